//! What parent and worker processes tell each other, one JSON object a line.

use warpscope::worker::{Command, LINE_MAX, Lines, WorkerEvent, parse, to_line};

use crate::Trace;

/// An event that is read can be written, and reads back as itself.
pub(super) fn events(bytes: &[u8], trace: &mut Trace) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let mut count = 0;
    for event in Lines::<_, WorkerEvent>::new(bytes, LINE_MAX) {
        count += 1;
        trace.result(&event);
        if let Ok(event) = event {
            let line = to_line(&event).expect("an event can be written");
            assert_eq!(parse(1, &line), Ok(event), "{line:?}");
        }
    }
    assert!(count <= lines);
}

/// A command that is read can be written, and reads back as itself; its sentence is no longer than it is.
pub(super) fn requests(bytes: &[u8], trace: &mut Trace) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let request = serde_json::from_slice::<Command>(line);
        trace.result(&request);
        let Ok(request) = request else { continue };
        let text = serde_json::to_string(&request).expect("a request can be written");
        assert_eq!(serde_json::from_str::<Command>(&text).ok().as_ref(), Some(&request), "{text}");
        assert!(request.to_string().len() <= 100 + 4 * line.len());
    }
}
