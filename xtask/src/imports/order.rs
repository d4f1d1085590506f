//! Orders the nodes of a graph so that arrows run down: its circles, the arrows that run back up in the order
//! that has few of them, and the floor of each node when those are left out.

/// An arrow between nodes by their numbers; the weight says how much ties them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) weight: usize,
}

/// What is known of a graph's order.
pub(crate) struct Order {
    /// Places in the list of arrows.
    pub(crate) back: Vec<usize>,
    /// From 1, for nodes that use none.
    pub(crate) floors: Vec<usize>,
}

/// Orders `nodes` nodes.
pub(crate) fn order(nodes: usize, arrows: &[Arrow]) -> Order {
    let circles = circles(nodes, arrows);
    let back: Vec<usize> = circles.iter().flat_map(|circle| back(circle, arrows)).collect();
    let forward = arrows.iter().enumerate().filter(|(i, _)| !back.contains(i)).map(|(_, arrow)| *arrow);
    let floors = floors(nodes, &forward.collect::<Vec<_>>());
    Order { back, floors }
}

/// The circles: sets of two nodes and more that all reach each other, each sorted.
pub(crate) fn circles(nodes: usize, arrows: &[Arrow]) -> Vec<Vec<usize>> {
    let reach: Vec<Vec<bool>> = (0..nodes).map(|node| reached_from(node, nodes, arrows)).collect();
    let mut found = Vec::new();
    let mut is_placed = vec![false; nodes];
    for node in 0..nodes {
        let circle: Vec<usize> =
            (0..nodes).filter(|&other| reach[node][other] && reach[other][node]).collect();
        if !is_placed[node] && circle.len() > 1 {
            circle.iter().for_each(|&other| is_placed[other] = true);
            found.push(circle);
        }
    }
    found
}

fn reached_from(start: usize, nodes: usize, arrows: &[Arrow]) -> Vec<bool> {
    let mut is_reached = vec![false; nodes];
    let mut left = vec![start];
    while let Some(node) = left.pop() {
        for arrow in arrows.iter().filter(|arrow| arrow.from == node) {
            if !std::mem::replace(&mut is_reached[arrow.to], true) {
                left.push(arrow.to);
            }
        }
    }
    is_reached
}

/// The arrows inside a circle that run up when its nodes are put in the best order that moving them one by
/// one finds.
fn back(circle: &[usize], arrows: &[Arrow]) -> Vec<usize> {
    let inside: Vec<usize> = (0..arrows.len())
        .filter(|&i| circle.contains(&arrows[i].from) && circle.contains(&arrows[i].to))
        .collect();
    let cost = |order: &[usize]| -> usize { up(order, &inside, arrows).map(|i| arrows[i].weight).sum() };
    let mut best = circle.to_vec();
    let mut least = cost(&best);
    while let Some((order, less)) = improved(&best, least, &cost) {
        (best, least) = (order, less);
    }
    up(&best, &inside, arrows).collect()
}

/// Those of the arrows `among` that run up in this order of their nodes.
fn up<'a>(order: &[usize], among: &'a [usize], arrows: &'a [Arrow]) -> impl Iterator<Item = usize> + use<'a> {
    let mut place = vec![0; order.iter().max().map_or(0, |most| most + 1)];
    order.iter().enumerate().for_each(|(i, &node)| place[node] = i);
    among.iter().copied().filter(move |&i| place[arrows[i].from] > place[arrows[i].to])
}

/// A cheaper order in which one node stands elsewhere, if there is one.
fn improved(order: &[usize], than: usize, cost: &impl Fn(&[usize]) -> usize) -> Option<(Vec<usize>, usize)> {
    let moves = (0..order.len()).flat_map(|from| (0..order.len()).map(move |to| (from, to)));
    let moved = moves.map(|(from, to)| {
        let mut moved = order.to_vec();
        let node = moved.remove(from);
        moved.insert(to, node);
        let cost = cost(&moved);
        (moved, cost)
    });
    moved.min_by_key(|(_, cost)| *cost).filter(|(_, cost)| *cost < than)
}

/// The longest way down from each node, in nodes. The arrows must have no circle.
fn floors(nodes: usize, arrows: &[Arrow]) -> Vec<usize> {
    let mut floors = vec![1; nodes];
    for _ in 0..nodes {
        for arrow in arrows {
            floors[arrow.from] = floors[arrow.from].max(floors[arrow.to] + 1);
        }
    }
    floors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(list: &[(usize, usize, usize)]) -> Vec<Arrow> {
        list.iter().map(|&(from, to, weight)| Arrow { from, to, weight }).collect()
    }

    #[test]
    fn floors_of_a_graph_without_circles() {
        let order = order(4, &arrows(&[(0, 1, 1), (1, 2, 1), (0, 2, 1)]));
        assert_eq!((order.floors, order.back), (vec![3, 2, 1, 1], vec![]));
    }

    #[test]
    fn of_a_circle_the_lightest_arrow_runs_back_up() {
        let arrows = arrows(&[(0, 1, 3), (1, 2, 1), (2, 0, 3), (2, 3, 1)]);
        assert_eq!(circles(4, &arrows), [[0, 1, 2]]);
        let order = order(4, &arrows);
        assert_eq!(order.back, [1]);
        assert_eq!(order.floors, [2, 1, 3, 1]);
    }

    #[test]
    fn two_circles_are_two() {
        let arrows = arrows(&[(0, 1, 1), (1, 0, 2), (2, 3, 1), (3, 2, 1), (1, 2, 1)]);
        assert_eq!(circles(4, &arrows), [[0, 1], [2, 3]]);
        let order = order(4, &arrows);
        assert_eq!(order.back.len(), 2);
        assert!(order.back.contains(&0));
    }
}
