use super::Catalogue;
use super::names::Names;
use super::part::{Part, PciId, Segment};
use super::words::NameWords;

/// Most GPUs of one kind a request may ask for.
pub const MAX_COUNT: u32 = 64;

/// Names offered when nothing fits.
const OFFERED: usize = 3;

/// Most products that are listed where a name fits several.
const LISTED: usize = 8;

/// Longer texts are cut before names are compared with them.
const LONGEST: usize = 64;

fn nearest_words(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; nearest: {}", nearest.join(", ")) }
}

/// A request that names no GPU, or more than one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// Nothing has that name or device id.
    #[error("{query:?} names no GPU of the catalogue{}", nearest_words(nearest))]
    Unknown {
        /// What was asked for.
        query: String,
        /// Market names that look most like it.
        nearest: Vec<String>,
    },
    /// A GPU of another maker.
    #[error("{query:?} is made by {maker}; warpscope knows NVIDIA GPUs only")]
    Foreign {
        /// What was asked for.
        query: String,
        /// The maker.
        maker: &'static str,
    },
    /// A GPU from before Maxwell.
    #[error(
        "{query:?} is older than Maxwell, where the catalogue begins: CUDA 11.8 was the last to support such GPUs, if any"
    )]
    Older {
        /// What was asked for.
        query: String,
    },
    /// Several products share that name or device id, and none is the usual one.
    #[error("{query:?} fits {}; name one of them", choices.join(", "))]
    Shared {
        /// What was asked for.
        query: String,
        /// Their market names.
        choices: Vec<String>,
    },
    /// The number before the name is not between 1 and [`MAX_COUNT`].
    #[error("{query:?} asks for too few or too many; write 1x to {}x", MAX_COUNT)]
    Count {
        /// What was asked for.
        query: String,
    },
}

/// How names of GPUs of other makers begin, folded; a digit follows the shorter ones.
const OTHER_MAKERS: &[(&str, &str)] = &[
    ("amd", "AMD"),
    ("instinct", "AMD"),
    ("radeon", "AMD"),
    ("mi", "AMD"),
    ("rx", "AMD"),
    ("gfx", "AMD"),
    ("intel", "Intel"),
    ("arca", "Intel"),
    ("arcb", "Intel"),
    ("gaudi", "Intel"),
    ("apple", "Apple"),
    ("tpu", "Google"),
];

/// Folded names of GPUs before Maxwell that people still ask about: Kepler (compute capability 3.x) and Fermi. CUDA 11 dropped
/// 3.0 and 3.2, CUDA 12 the rest (release notes of CUDA 11.0 and 12.0, read 2026-11).
const OLDER: &[&str] = &[
    "k10",
    "k20",
    "k20c",
    "k20m",
    "k20x",
    "k40",
    "k40c",
    "k40m",
    "k40t",
    "k80",
    "k520",
    "gridk1",
    "gridk2",
    "gridk520",
    "gtx460",
    "gtx470",
    "gtx480",
    "gtx560",
    "gtx560ti",
    "gtx570",
    "gtx580",
    "gtx590",
    "gtx650",
    "gtx650ti",
    "gtx660",
    "gtx660ti",
    "gtx670",
    "gtx680",
    "gtx690",
    "gtx760",
    "gtx770",
    "gtx780",
    "gtx780ti",
    "gtxtitan",
    "gtxtitanblack",
    "gtxtitanz",
    "gt610",
    "gt620",
    "gt630",
    "gt640",
    "gt710",
    "gt720",
    "gt730",
    "gt740",
    "kepler",
    "fermi",
    "quadrok4000",
    "quadrok4200",
    "quadrok5000",
    "quadrok5200",
    "quadrok6000",
    "m2050",
    "m2070",
    "m2075",
    "m2090",
];

/// Whether a folded name is that of a GPU before Maxwell.
fn is_older(folded: &str) -> bool {
    let bare = ["tesla", "geforce"].iter().find_map(|line| folded.strip_prefix(line));
    OLDER.contains(&bare.unwrap_or(folded))
}

/// Whether a folded name is that of a Radeon without its line: `7900xtx`.
fn is_radeon(folded: &str) -> bool {
    let suffix = folded.trim_start_matches(|c: char| c.is_ascii_digit());
    folded.len() - suffix.len() == 4 && ["xt", "xtx", "gre"].contains(&suffix)
}

/// Who makes what has this folded name, if it is not NVIDIA.
fn maker(folded: &str) -> Option<&'static str> {
    if is_radeon(folded) {
        return Some("AMD");
    }
    let fits = |start: &str| {
        let rest = folded.strip_prefix(start);
        rest.is_some_and(|rest| {
            start.len() > 4
                || rest.starts_with(|c: char| c.is_ascii_digit())
                || start == "amd"
                || start == "tpu"
        })
    };
    OTHER_MAKERS.iter().find(|row| fits(row.0)).map(|row| row.1)
}

/// A name without case, spaces, punctuation and the maker's name: what names are compared by.
pub(super) fn folded(name: &str) -> String {
    let lower = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let text: String = lower.collect();
    text.strip_prefix("nvidia").map(str::to_owned).unwrap_or(text)
}

impl Catalogue {
    /// Every product that a query, whose folded form is `wanted`, may mean.
    fn meant(&self, query: &str, wanted: &str) -> Vec<&Part> {
        let parts = self.parts();
        let named = self.names.get_or_init(|| Names::of(parts)).places(wanted);
        let found: Vec<&Part> = match (named, pci_id(query)) {
            ([], Some(id)) => self.by_pci_id(id.0),
            (places, _) => places.iter().map(|at| &parts[*at]).collect(),
        };
        if !found.is_empty() {
            return found;
        }
        let machine = query.trim().to_lowercase();
        let found: Vec<&Part> = parts.iter().filter(|part| part.is_in(&machine)).collect();
        if !found.is_empty() {
            return found;
        }
        let words = self.name_words.get_or_init(|| NameWords::of(parts));
        words.places(query).iter().map(|at| &parts[*at]).collect()
    }

    /// The product that a query means, as [`Catalogue::find`] would find it; nothing where that would be an error.
    pub fn get(&self, query: &str) -> Option<&Part> {
        match self.meant(query, &folded(query)).as_slice() {
            [part] => Some(part),
            _ => None,
        }
    }

    /// The product that a market name, alias, NVML name, PCI device id (`1eb8`, `10de:1eb8`) or
    /// cloud machine (`g4dn.xlarge`) means; case, spaces and hyphens do not matter, nor, where nothing has that name, the order of its
    /// words and words such as `GPU` or `Founders Edition`. Where a name fits several variants, the
    /// part that lists it under `default_for` is meant.
    pub fn find(&self, query: &str) -> Result<&Part, FindError> {
        let wanted = folded(query);
        let found = match self.meant(query, &wanted) {
            found if !found.is_empty() => found,
            _ if maker(&wanted).is_some() => {
                let maker = maker(&wanted).unwrap_or_default();
                return Err(FindError::Foreign { query: query.into(), maker });
            }
            _ if is_older(&wanted) => return Err(FindError::Older { query: query.into() }),
            _ => self.shortened(query),
        };
        match found.as_slice() {
            [] => Err(FindError::Unknown { query: query.into(), nearest: self.nearest(&wanted) }),
            [part] => Ok(part),
            several => {
                let choices = several.iter().map(|part| part.market_name.clone()).collect();
                Err(FindError::Shared { query: query.into(), choices })
            }
        }
    }

    /// Products of whose names the query leaves words out, as `RTX 6000` does of several; laptops' GPUs only where there is no other.
    fn shortened(&self, query: &str) -> Vec<&Part> {
        let parts = self.parts();
        let words = self.name_words.get_or_init(|| NameWords::of(parts));
        let mut found: Vec<&Part> =
            words.with_all_of(query).into_iter().map(|at| &parts[at]).collect();
        if found.iter().any(|part| part.segment != Segment::Laptop) {
            found.retain(|part| part.segment != Segment::Laptop);
        }
        found.truncate(if found.len() > LISTED { 0 } else { LISTED });
        found
    }

    /// A count and a product: `2xT4`, `2 × T4`, or just `T4`.
    pub fn parse_request(&self, request: &str) -> Result<(u32, &Part), FindError> {
        let (count, name) = match split_count(request) {
            Some((count, name)) => (count.parse().ok(), name),
            None => (Some(1), request),
        };
        if let Some(count @ 1..=MAX_COUNT) = count {
            return Ok((count, self.find(name)?));
        }
        // The number is perhaps part of the name: `7900 XTX`, `0x1eb8`.
        self.find(request).map(|part| (1, part)).map_err(|error| match error {
            FindError::Unknown { query, .. } => FindError::Count { query },
            named => named,
        })
    }

    /// Every product with that device id; ids may be shared by variants.
    pub fn by_pci_id(&self, device_id: u32) -> Vec<&Part> {
        self.parts().iter().filter(|part| part.pci_ids.contains(&PciId(device_id))).collect()
    }

    /// Products in whose names, chip, architecture, memory type or compute capability every word
    /// of `text` occurs; those that are called so come first, then those whose name begins so.
    pub fn search(&self, text: &str) -> Vec<&Part> {
        let whole = folded(text);
        let words: Vec<_> = text.split_whitespace().map(folded).collect();
        let mut found: Vec<_> = self
            .parts()
            .iter()
            .filter(|part| self.mentions(part, &words))
            .map(|part| (rank(part, &whole), part))
            .collect();
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, part)| part).collect()
    }

    fn mentions(&self, part: &Part, words: &[String]) -> bool {
        let family = self.arch(part.sm).map_or("", |arch| &arch.family);
        let (sm, cc) = (part.sm.to_string(), part.sm.cc());
        let rest = [part.chip.as_str(), &part.memory_type, family, &sm, &cc];
        let all: Vec<_> = part.names().chain(rest).map(folded).collect();
        words.iter().all(|word| all.iter().any(|text| text.contains(word.as_str())))
    }

    fn nearest(&self, wanted: &str) -> Vec<String> {
        let wanted: Vec<char> = wanted.chars().take(LONGEST).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut scored: Vec<_> = self
            .parts()
            .iter()
            .map(|part| (part.names().map(|name| distance(&wanted, name)).min(), part))
            .collect();
        scored.sort_by_key(|(score, _)| *score);
        scored.into_iter().take(OFFERED).map(|(_, part)| part.market_name.clone()).collect()
    }
}

fn rank(part: &Part, whole: &str) -> u8 {
    let names = || part.names().map(folded);
    match () {
        () if names().any(|name| name == whole) => 0,
        () if names().any(|name| name.starts_with(whole)) => 1,
        () => 2,
    }
}

fn split_count(request: &str) -> Option<(&str, &str)> {
    let request = request.trim();
    let digits = request.bytes().take_while(u8::is_ascii_digit).count();
    let (count, rest) = request.split_at(digits);
    let name = rest.trim_start().strip_prefix(['x', 'X', '×', '*'])?;
    (digits > 0).then_some((count, name))
}

fn pci_id(query: &str) -> Option<PciId> {
    let lower = query.trim().to_lowercase();
    let id = lower.strip_prefix("10de:").unwrap_or(&lower);
    PciId::parse(id.strip_prefix("0x").unwrap_or(id))
}

/// Edits that turn one name into the other; a name that contains the wanted one is near whatever its length.
fn distance(wanted: &[char], name: &str) -> usize {
    let name: Vec<char> = folded(name).chars().collect();
    if name.windows(wanted.len()).any(|part| part == wanted) {
        return 1;
    }
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (i, a) in wanted.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in name.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[name.len()]
}
