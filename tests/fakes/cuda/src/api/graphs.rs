//! Graphs.

use std::ffi::{c_char, c_uint, c_ulonglong, c_void};

use super::{exports, put};
use crate::codes::INVALID_VALUE;
use crate::graph::Graph;
use crate::table::Handle;

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
pub(crate) struct InstantiateParams {
    flags: c_ulonglong,
    upload_stream: Handle,
    error_node: Handle,
    result: c_uint,
}

exports! { driver;
    cuGraphCreate(graph: *mut Handle, flags: c_uint) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        put(graph, driver.graphs.insert(Graph { work: Vec::new() }))
    }
    cuGraphDestroy(graph: Handle) { driver.graphs.remove(graph).map(drop) }
    cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let there = driver.graphs.get(graph)?.nodes();
        if nodes.is_null() {
            return put(count, there);
        }
        // Nodes have no use of their own here: their handles are the graph's, one further each.
        let room = count.read();
        for at in 0..room {
            let node = if at < there { graph.wrapping_byte_add(at + 1) } else { std::ptr::null_mut() };
            nodes.add(at).write(node);
        }
        put(count, room.min(there))
    }
    cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, _flags: c_ulonglong) {
        let made = driver.instantiate(graph)?;
        put(executable, made)
    }
    cuGraphInstantiate_v2(executable: *mut Handle, graph: Handle, _node: *mut Handle, _log: *mut c_char, _size: usize) {
        let made = driver.instantiate(graph)?;
        put(executable, made)
    }
    cuGraphInstantiateWithParams(executable: *mut Handle, graph: Handle, params: *mut InstantiateParams) {
        let made = driver.instantiate(graph)?;
        if params.is_null() {
            return Err(INVALID_VALUE);
        }
        (*params).result = 0;
        (*params).error_node = std::ptr::null_mut::<c_void>();
        put(executable, made)
    }
    cuGraphUpload(executable: Handle, stream: Handle) {
        driver.check_stream(stream)?;
        driver.executables.get(executable).map(drop)
    }
    cuGraphLaunch(executable: Handle, stream: Handle) { driver.launch_graph(executable, stream) }
    cuGraphExecDestroy(executable: Handle) { driver.executables.remove(executable).map(drop) }
}
