//! Many machines through a server with Prometheus' API: Prometheus, VictoriaMetrics, Thanos, Mimir.
//!
//! The server has collected and keeps everything; this asks one question for each metric and refresh, and for the past of the machine in view.

mod client;
mod collect;
mod query;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use warpscope_probes::fleet::{Exporter, Fleet, State, exporters};
use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Notice, Severity};

use self::client::Client;
pub use self::client::{Server, ServerUrl};
use self::collect::{Depth, Present};
use self::query::Selection;
use super::{Control, FleetNews, FleetSink, FrameSink, Source, notice};

/// The server has nothing newer within a shorter time: exporters are read every 15 or 30 seconds.
const SHORTEST: Duration = Duration::from_secs(5);

/// So many times as long as a refresh took, the server is left alone.
const BUSY: f64 = 9.0;
/// Exporters that were not there are looked for again with every refresh of this number.
const LOOK_AROUND: u64 = 12;

fn all() -> Vec<&'static Exporter> {
    exporters().iter().collect()
}

/// Machines that a server of metrics knows.
pub struct FleetSource {
    client: Client,
    selection: Selection,
    interval: Duration,
    /// What the server has answered already.
    first: Option<(Fleet, Present)>,
}

impl FleetSource {
    /// Asks once per `interval` for series that these matchers fit.
    pub fn new(server: Server, matchers: &str, interval: Duration) -> Result<Self, String> {
        let selection = Selection { matchers: matchers.to_owned(), machine: None };
        Ok(Self { client: server.client()?, selection, interval, first: None })
    }

    /// Asks the server for the first time: one that cannot be asked fails a command, which has no screen to say so on.
    pub fn asked(mut self) -> Result<Self, String> {
        let everything = (Depth::Everything, &all()[..]);
        let asked = collect::fleet(&mut self.client, &self.selection, everything, None);
        Ok(Self { first: Some(asked?), ..self })
    }

    /// Every machine's frame, once, with all that is known of it.
    pub fn frames(self) -> Result<Vec<Frame>, String> {
        Ok(self.asked()?.first.iter().flat_map(|(fleet, _)| frames(fleet)).collect())
    }

    fn run(self, frames_to: FrameSink, fleet_to: Option<FleetSink>) -> Box<dyn Control> {
        let (orders, inbox) = channel();
        let Self { client, selection, interval, first } = self;
        let watch = Watch {
            client,
            selection,
            interval: interval.max(SHORTEST),
            first,
            fleet: None,
            tried: Instant::now(),
            present: Vec::new(),
            in_view: None,
            frames_to,
            fleet_to,
        };
        let work = move || {
            watch.run(&inbox);
        };
        // Without the thread no frame ever comes; a dashboard says so by itself.
        drop(thread::Builder::new().name("fleet".into()).spawn(work));
        Box::new(FleetControl { orders })
    }
}

impl Source for FleetSource {
    fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control> {
        self.run(sink, None)
    }

    fn start_with_fleet(self: Box<Self>, sink: FrameSink, fleet: FleetSink) -> Box<dyn Control> {
        self.run(sink, Some(fleet))
    }
}

fn frames(fleet: &Fleet) -> impl Iterator<Item = Frame> {
    (0..fleet.machines.len()).filter_map(|machine| fleet.frame(machine))
}

/// What the user wants changed.
enum Order {
    Interval(Duration),
    LookAt(String),
}

struct FleetControl {
    orders: Sender<Order>,
}

impl Control for FleetControl {
    fn set_interval(&mut self, interval: Duration) {
        self.orders.send(Order::Interval(interval)).ok();
    }

    fn look_at(&mut self, machine: &str) {
        self.orders.send(Order::LookAt(machine.to_owned())).ok();
    }
}

/// Asks again and again.
struct Watch {
    client: Client,
    selection: Selection,
    interval: Duration,
    first: Option<(Fleet, Present)>,
    fleet: Option<Arc<Fleet>>,
    /// When the server was asked for all machines last.
    tried: Instant,
    present: Present,
    in_view: Option<String>,
    frames_to: FrameSink,
    fleet_to: Option<FleetSink>,
}

impl Watch {
    fn run(mut self, inbox: &Receiver<Order>) {
        let mut due = Instant::now();
        loop {
            let wait = due.saturating_duration_since(Instant::now());
            let goes_on = match inbox.recv_timeout(wait) {
                Ok(Order::Interval(interval)) => {
                    self.interval = interval.max(SHORTEST);
                    true
                }
                Ok(Order::LookAt(machine)) => {
                    self.in_view = Some(machine);
                    self.look(true)
                }
                Err(RecvTimeoutError::Timeout) => {
                    let goes_on = self.refresh() && self.look(false);
                    due = Instant::now() + self.pause();
                    goes_on
                }
                Err(RecvTimeoutError::Disconnected) => false,
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Asks for all machines. False: nobody listens.
    fn refresh(&mut self) -> bool {
        let depth = if self.fleet_to.is_some() { Depth::Fleet } else { Depth::Everything };
        let before = self.fleet.as_deref();
        let looks_around = before.is_none_or(|before| before.seq % LOOK_AROUND == 0);
        let known: Vec<_> = self.present.iter().map(|row| row.0).collect();
        let among = if looks_around || known.is_empty() { all() } else { known };
        let client = &mut self.client;
        let ask = || collect::fleet(client, &self.selection, (depth, &among[..]), before);
        let asked = self.first.take().map_or_else(ask, Ok);
        let passed = self.tried.elapsed();
        self.tried = Instant::now();
        match asked {
            Ok((mut fleet, present)) => {
                fleet.interval_s = self.interval.as_secs_f64();
                let fleet = Arc::new(fleet);
                self.fleet = Some(Arc::clone(&fleet));
                self.present = present;
                match &self.fleet_to {
                    Some(_) => self.tell(FleetNews::Fleet(fleet)),
                    None => frames(&fleet).all(|frame| (self.frames_to)(frame)),
                }
            }
            Err(why) if self.fleet_to.is_some() => self.tell(FleetNews::Trouble(why)),
            Err(why) => self.push_late(&why, passed),
        }
    }

    /// The last frames, some time later, with everything late, and why.
    fn push_late(&mut self, why: &str, passed: Duration) -> bool {
        let Some(fleet) = &mut self.fleet else { return true };
        let fleet = Arc::make_mut(fleet);
        fleet.seq += 1;
        fleet.at.0 += passed.as_millis() as u64;
        let fresh = fleet.machines.iter_mut().filter(|machine| machine.state == State::Fresh);
        fresh.for_each(|machine| machine.state = State::Late);
        let what = format!("The metrics server does not answer: {why}");
        let lost = notice(Notice::FLEET_LOST, Severity::Error, what, "It is asked again.");
        frames(fleet).all(|mut frame| {
            frame.notices.insert(0, lost.clone());
            (self.frames_to)(frame)
        })
    }

    /// Until the next refresh: longer where one keeps the server busy.
    fn pause(&self) -> Duration {
        let took = self.fleet.as_ref().map_or(0.0, |fleet| fleet.cost.seconds);
        self.interval.max(Duration::from_secs_f64(took * BUSY))
    }

    fn tell(&self, news: FleetNews) -> bool {
        self.fleet_to.as_ref().is_none_or(|to| to(news))
    }

    /// Asks for everything about the machine in view, and for its past where that is wanted.
    fn look(&mut self, with_past: bool) -> bool {
        let (Some(machine), Some(fleet)) = (self.in_view.clone(), self.fleet.clone()) else {
            return true;
        };
        match self.machine(&machine, &fleet, with_past) {
            Ok((past, frame)) => {
                (past.is_empty() || self.tell(FleetNews::Past(past))) && (self.frames_to)(frame)
            }
            Err(why) => self.tell(FleetNews::Trouble(why)),
        }
    }

    fn machine(
        &mut self,
        name: &str,
        all: &Fleet,
        with_past: bool,
    ) -> Result<(Vec<Frame>, Frame), String> {
        let gone = || format!("{name} is no longer there");
        let last = all.find(name).and_then(|at| all.frame(at)).ok_or_else(gone)?;
        for (exporter, host) in self.present.clone() {
            let machine = Some((host.to_owned(), name.to_owned()));
            let selection = Selection { machine, ..self.selection.clone() };
            let everything = (Depth::Everything, &[exporter][..]);
            let asked = collect::fleet(&mut self.client, &selection, everything, None);
            let Ok((one, _)) = asked else { continue };
            let one = Fleet { seq: all.seq, interval_s: all.interval_s, ..one };
            let Some(mut frame) = one.find(name).and_then(|at| one.frame(at)) else { continue };
            // GPUs that the exporter tells of no more.
            let is_here = |key: &str| frame.gpus.iter().any(|gpu| gpu.key == key);
            let lost = last.gpus.iter().filter(|gpu| gpu.presence == Presence::Lost);
            let lost: Vec<_> = lost.filter(|gpu| !is_here(&gpu.key)).cloned().collect();
            frame.gpus.extend(lost);
            let past = match with_past {
                true => collect::past(&mut self.client, &selection, (exporter, host), &one)?,
                false => Vec::new(),
            };
            return Ok((past, frame));
        }
        Ok((Vec::new(), last))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use warpscope_probes::Timestamp;
    use warpscope_probes::fleet::Machine;

    use super::*;

    /// Nobody listens at this address.
    fn watch(fleet: Option<Fleet>) -> (Watch, mpsc::Receiver<Frame>) {
        let url = "http://127.0.0.1:1".parse().expect("an address");
        let (sender, frames) = mpsc::channel();
        let watch = Watch {
            client: Server::new(url, None, None).client().expect("is prepared"),
            selection: Selection::default(),
            interval: SHORTEST,
            first: None,
            fleet: fleet.map(Arc::new),
            tried: Instant::now(),
            present: Vec::new(),
            in_view: None,
            frames_to: Arc::new(move |frame| sender.send(frame).is_ok()),
            fleet_to: None,
        };
        (watch, frames)
    }

    #[test]
    fn a_server_that_does_not_answer_any_more_makes_its_machines_late() {
        let machine = Machine { name: "a".to_owned(), ..Machine::default() };
        let at = Timestamp(1_000_000);
        let fleet = Fleet { seq: 4, at, machines: vec![machine], ..Fleet::default() };
        let (mut watch, frames) = watch(Some(fleet));
        assert!(watch.refresh() && watch.refresh());
        let all: Vec<Frame> = frames.try_iter().collect();
        assert_eq!(all.iter().map(|frame| frame.seq).collect::<Vec<_>>(), [5, 6]);
        assert!(all.iter().all(|frame| frame.at >= at));
        let ids: Vec<&str> = all[1].notices.iter().map(|notice| notice.id.as_str()).collect();
        assert_eq!(ids, [Notice::FLEET_LOST, "fleet.old"]);
        assert!(all[1].notices[0].what.contains("refused"), "{:?}", all[1].notices);
    }

    #[test]
    fn a_command_fails_where_the_server_cannot_be_asked() {
        let url = "http://127.0.0.1:1".parse().expect("an address");
        let source = FleetSource::new(Server::new(url, None, None), "", SHORTEST);
        assert!(source.and_then(FleetSource::asked).is_err_and(|why| why.contains("refused")));
    }
}
