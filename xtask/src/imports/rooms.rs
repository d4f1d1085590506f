//! A package's files and folders as rooms: at each folder the graph of what lies in it, a folder being one
//! room. `a.rs` and `a/` are one room `a`; inside it, `a.rs` or `a/mod.rs` is a room `mod` beside the others.

use std::collections::BTreeMap;

use super::graph::{Edge, Graph};
use super::order::{Arrow, Order, circles, order};

/// A folder and the graph of its rooms.
pub(crate) struct Level {
    /// Its path in the repository.
    pub(crate) folder: String,
    pub(crate) rooms: Vec<Room>,
    pub(crate) links: Vec<Link>,
    pub(crate) order: Order,
}

/// A file or a folder, and the files in it, as places in the graph's list.
pub(crate) struct Room {
    pub(crate) name: String,
    pub(crate) files: Vec<usize>,
}

/// An import between two rooms of a level, and the edges of the files that it is made of.
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) edges: Vec<usize>,
}

/// The graphs of all folders, from the package's own down.
pub(crate) fn levels(graph: &Graph) -> Vec<Level> {
    let places: Vec<Vec<String>> = graph.files.iter().map(|file| place(file, &graph.files)).collect();
    let mut folders: Vec<&[String]> =
        places.iter().flat_map(|place| (0..place.len()).map(move |depth| &place[..depth])).collect();
    folders.sort_unstable();
    folders.dedup();
    let levels = folders.into_iter().map(|folder| level(folder, &places, graph));
    levels.filter(|level| level.rooms.len() > 1).collect()
}

/// The circles of files, wherever they lie.
pub(crate) fn file_circles(graph: &Graph) -> Vec<Vec<usize>> {
    let arrow = |edge: &Edge| Arrow { from: edge.from, to: edge.to, weight: edge.names.len() };
    circles(graph.files.len(), &graph.edges.iter().map(arrow).collect::<Vec<_>>())
}

/// The rooms that lead to a file, the last being its own.
fn place(file: &str, files: &[String]) -> Vec<String> {
    let bare = file.trim_end_matches(".rs");
    let mut place: Vec<String> = bare.split('/').map(str::to_owned).collect();
    let own_folder = format!("{bare}/");
    if files.iter().any(|other| other.starts_with(&own_folder)) {
        place.push("mod".to_owned());
    }
    place
}

fn level(folder: &[String], places: &[Vec<String>], graph: &Graph) -> Level {
    let mut rooms: Vec<Room> = Vec::new();
    let mut room_of = vec![None; places.len()];
    for (file, place) in places.iter().enumerate().filter(|(_, place)| place.starts_with(folder)) {
        let name = &place[folder.len()];
        let room = rooms.iter().position(|room| room.name == *name).unwrap_or_else(|| {
            rooms.push(Room { name: name.clone(), files: Vec::new() });
            rooms.len() - 1
        });
        rooms[room].files.push(file);
        room_of[file] = Some(room);
    }
    let mut links: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (i, edge) in graph.edges.iter().enumerate() {
        if let (Some(from), Some(to)) = (room_of[edge.from], room_of[edge.to])
            && from != to
        {
            links.entry((from, to)).or_default().push(i);
        }
    }
    let links: Vec<Link> = links.into_iter().map(|((from, to), edges)| Link { from, to, edges }).collect();
    let arrows: Vec<Arrow> = links.iter().map(|link| arrow(link, graph)).collect();
    let order = order(rooms.len(), &arrows);
    Level { folder: folder.join("/"), rooms, links, order }
}

fn arrow(link: &Link, graph: &Graph) -> Arrow {
    let weight = link.edges.iter().map(|&edge| graph.edges[edge].names.len()).sum();
    Arrow { from: link.from, to: link.to, weight }
}

impl Level {
    /// The links that run back up.
    pub(crate) fn back(&self) -> impl Iterator<Item = &Link> {
        self.order.back.iter().map(|&link| &self.links[link])
    }

    /// How many floors the rooms stand on.
    pub(crate) fn floors(&self) -> usize {
        self.order.floors.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn graph(files: &[&str], edges: &[(usize, usize)]) -> Graph {
        let names = BTreeSet::from(["X".to_owned()]);
        let edge = |&(from, to): &(usize, usize)| Edge { from, to, names: names.clone() };
        Graph {
            files: files.iter().map(|&file| file.to_owned()).collect(),
            edges: edges.iter().map(edge).collect(),
        }
    }

    #[test]
    fn a_folder_is_one_room_with_the_file_of_its_name() {
        let graph =
            graph(&["a/src/lib.rs", "a/src/x.rs", "a/src/x/y.rs", "a/src/z/mod.rs"], &[(1, 2), (3, 2)]);
        let levels = levels(&graph);
        let names: Vec<_> = levels
            .iter()
            .map(|level| {
                let rooms: Vec<_> = level.rooms.iter().map(|room| room.name.as_str()).collect();
                format!("{}: {}", level.folder, rooms.join(" "))
            })
            .collect();
        assert_eq!(names, ["a/src: lib x z", "a/src/x: mod y"]);
        assert_eq!(levels[0].links.len(), 1);
        assert_eq!(levels[0].order.floors, [1, 1, 2]);
        assert_eq!(levels[1].order.floors, [2, 1]);
    }

    #[test]
    fn a_circle_of_folders_need_not_be_one_of_files() {
        let graph = graph(&["a/x/1.rs", "a/x/2.rs", "a/y/1.rs", "a/y/2.rs"], &[(0, 2), (3, 1)]);
        let levels = levels(&graph);
        let back: Vec<_> = levels.iter().map(|level| level.back().count()).collect();
        assert_eq!(back, [1, 0, 0]);
        assert!(file_circles(&graph).is_empty());
    }
}
