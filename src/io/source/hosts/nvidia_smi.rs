//! The loop that asks NVIDIA's own tool where warpscope is not at hand.

use std::time::{Duration, Instant};

use warpscope_probes::nvidia_smi::{END, Part, query};

/// Between two rounds; not every `sleep` knows parts of a second.
fn pause(interval: Duration) -> Duration {
    Duration::from_secs_f64(interval.as_secs_f64().ceil().max(1.0))
}

/// How far apart frames are, which nobody here decides: the tool takes its time in each round.
pub(super) struct Pace {
    since: Instant,
    pause: Duration,
}

impl Pace {
    /// From when the loop was started.
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self { since: now, pause: pause(interval) }
    }

    /// A frame came: when the next is expected, from now. Only the first had no pause before it.
    pub(super) fn came(&mut self, now: Instant) -> Duration {
        let took = now.saturating_duration_since(self.since);
        self.since = now;
        took + std::mem::take(&mut self.pause)
    }
}

/// Prints the parts of a frame again and again, until nobody reads them.
pub(super) fn script(interval: Duration) -> String {
    let [gpus, old_gpus] = [Part::Gpus, Part::OldGpus].map(Part::heading);
    let [processes, owners, machine] =
        [Part::Processes, Part::Owners, Part::Machine].map(Part::heading);
    let form = "--format=csv,noheader,nounits";
    let (query, old_query) = (query(false), query(true));
    let seconds = pause(interval).as_secs();
    format!(
        "h=\"{gpus}\"; q=\"{query}\"; \
         nvidia-smi --query-gpu=\"$q\" {form} >/dev/null 2>&1 || {{ h=\"{old_gpus}\"; q=\"{old_query}\"; }}; \
         c=$(nvidia-smi 2>/dev/null | grep -o \"CUDA Version: [0-9.]*\" | head -n 1); \
         while echo \"$h\"; do \
         nvidia-smi --query-gpu=\"$q\" {form} 2>&1; \
         a=$(nvidia-smi --query-compute-apps=gpu_uuid,pid,used_gpu_memory,process_name {form} 2>/dev/null); \
         echo \"{processes}\"; echo \"$a\"; \
         p=$(echo \"$a\" | cut -d, -f2 | tr -cd \"0-9\\n\" | tr \"\\n\" ,); p=${{p%,}}; \
         echo \"{owners}\"; [ -n \"$p\" ] && ps -o pid= -o user= -o etimes= -o args= -p \"$p\" 2>/dev/null; \
         echo \"{machine}\"; echo \"hostname $(uname -n)\"; echo \"kernel $(uname -sr)\"; echo \"cuda $c\"; \
         echo \"cores $(getconf _NPROCESSORS_ONLN 2>/dev/null)\"; \
         echo \"load $(cat /proc/loadavg 2>/dev/null)\"; echo \"uptime $(cat /proc/uptime 2>/dev/null)\"; \
         grep -E \"^(MemTotal|MemAvailable|SwapTotal|SwapFree):\" /proc/meminfo 2>/dev/null; \
         echo \"{END}\"; sleep {seconds}; done"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_tool() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs_f64(seconds);
        let mut pace = Pace::new(Duration::from_millis(1500), begin);
        assert_eq!(pace.came(at(1.25)), Duration::from_secs_f64(3.25), "a round and two seconds");
        assert_eq!(pace.came(at(4.25)), Duration::from_secs(3));
        assert_eq!(pace.came(at(7.0)), Duration::from_secs_f64(2.75));
    }
}
