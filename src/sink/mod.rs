//! Where frames go besides the screen: JSON Lines, tables.
