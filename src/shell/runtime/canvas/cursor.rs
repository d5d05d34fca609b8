//! The shortest way from one place on the screen to another.

/// Appends what moves the cursor from one place, if that is known, to another.
///
/// Never by control characters, a byte each: names from outside hold them too, so that none may leave this program.
pub(super) fn go(out: &mut Vec<u8>, from: Option<(u16, u16)>, (x, y): (u16, u16)) {
    let start = out.len();
    let absolute = 4 + digits(y + 1) + digits(x + 1);
    if let Some(from) = from {
        steps(out, (from.0, x), (b'C', b'D'));
        steps(out, (from.1, y), (b'B', b'A'));
        if out.len() - start < absolute {
            return;
        }
        out.truncate(start);
    }
    sequence(out, &[y + 1, x + 1], b'H');
}

fn steps(out: &mut Vec<u8>, (from, to): (u16, u16), (onwards, back): (u8, u8)) {
    let direction = if to > from { onwards } else { back };
    match to.abs_diff(from) {
        0 => {}
        1 => sequence(out, &[], direction),
        count => sequence(out, &[count], direction),
    }
}

/// Appends a control sequence (CSI) with its parameters.
pub(super) fn sequence(out: &mut Vec<u8>, numbers: &[u16], end: u8) {
    out.extend_from_slice(b"\x1b[");
    for (at, number) in numbers.iter().enumerate() {
        if at > 0 {
            out.push(b';');
        }
        push_number(out, *number);
    }
    out.push(end);
}

fn push_number(out: &mut Vec<u8>, number: u16) {
    let places = [10_000, 1_000, 100, 10, 1].map(|place| b'0' + (number / place % 10) as u8);
    out.extend_from_slice(&places[places.len() - digits(number)..]);
}

fn digits(number: u16) -> usize {
    number.checked_ilog10().map_or(1, |power| power as usize + 1)
}
