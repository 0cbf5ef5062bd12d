//! Routes, resolved once to flat arrays of link indices.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::refusal::{invalid, ScenarioError};
use crate::scenario::Scenario;

/// The mark that ends each route in [`Routes::hops`]: the packet has reached its destination.
pub const DELIVER: u32 = u32::MAX;

/// The most paths among which the connections between two nodes are spread.
const MOST_PATHS: usize = 64;

/// The paths between two nodes, one behind the other in [`Routes::hops`], all of the same length: one, unless
/// [`Scenario::ecmp`] spreads connections over all shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Position in [`Routes::hops`] of the first path's first hop.
    pub start: u32,
    count: u16,
    /// Hops of each path, with the mark at its end.
    length: u16,
}

impl Paths {
    /// The position of the first hop of the path that a connection with this hash takes.
    pub fn choose(self, hash: u64) -> u32 {
        self.start + (hash % u64::from(self.count)) as u32 * u32::from(self.length)
    }

    /// Whether there are several paths.
    pub fn are_several(self) -> bool {
        self.count > 1
    }

    /// The positions of the first hops of all paths.
    pub fn starts(self) -> impl Iterator<Item = u32> {
        (0..u64::from(self.count)).map(move |hash| self.choose(hash))
    }
}

/// All routes that the traffic uses. A packet carries the position of its next hop in `hops`; the hop after that is the
/// next element.
#[derive(Debug, Default)]
pub struct Routes {
    /// Link indices, each route ended by [`DELIVER`].
    pub hops: Vec<u32>,
    found: BTreeMap<(u32, u32), Paths>,
    /// The index of the scenario's explicit route between two nodes; the first one, if there are several.
    explicit: BTreeMap<(u32, u32), usize>,
    /// Links that leave each node, in order of their index.
    leaving: Vec<Vec<u32>>,
    /// Links that enter each node, in order of their index.
    entering: Vec<Vec<u32>>,
    /// Shortest-path trees, by root: how each node is entered on the way from the root.
    trees: BTreeMap<u32, Rc<[Entry]>>,
}

/// How a tree of shortest paths enters a node.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The link; no tree enters its root.
    entered_by: u32,
    /// Hops from the root; `u32::MAX` if no path leads there.
    distance: u32,
}

impl Entry {
    const UNREACHED: Entry = Entry { entered_by: u32::MAX, distance: u32::MAX };

    fn is_reached(self) -> bool {
        self.distance != u32::MAX
    }
}

/// The maximum number of trees stored. Most nodes are hosts with one link, whose routes share the trees of a few
/// routers.
const MAX_TREES: usize = 64;

impl Routes {
    /// Prepares routing in this scenario; no route is resolved yet.
    pub fn new(scenario: &Scenario) -> Routes {
        let mut leaving = vec![Vec::new(); scenario.nodes.len()];
        let mut entering = leaving.clone();
        for (index, link) in scenario.links.iter().enumerate() {
            leaving[link.from as usize].push(index as u32);
            entering[link.to as usize].push(index as u32);
        }
        let ends = scenario.routes.iter().enumerate().rev().map(|(index, route)| ((route.from, route.to), index));
        Routes { leaving, entering, explicit: ends.collect(), ..Routes::default() }
    }

    /// The links on the paths that a run uses between two nodes; empty if there is no path.
    ///
    /// # Errors
    ///
    /// If the scenario's explicit route between them is not a chain of links.
    pub fn between(&mut self, scenario: &Scenario, from: u32, to: u32) -> Result<Vec<Vec<u32>>, ScenarioError> {
        if !self.explicit.contains_key(&(from, to)) && self.shortest_path(scenario, from, to).is_none() {
            return Ok(Vec::new());
        }
        let paths = self.resolve(scenario, from, to)?;
        Ok(paths.starts().map(|start| self.links(start).collect()).collect())
    }

    /// The links of the path that begins at this position.
    pub fn links(&self, start: u32) -> impl Iterator<Item = u32> + '_ {
        self.hops[start as usize..].iter().copied().take_while(|&hop| hop != DELIVER)
    }

    /// Finds the paths between two nodes: the explicit route, if the scenario has one, or else the path with the fewest
    /// hops; ties go to the lower link index. With [`Scenario::ecmp`], all paths with the fewest hops.
    ///
    /// # Errors
    ///
    /// If no link leads there, or an explicit route of the scenario does not.
    pub fn resolve(&mut self, scenario: &Scenario, from: u32, to: u32) -> Result<Paths, ScenarioError> {
        if let Some(&paths) = self.found.get(&(from, to)) {
            return Ok(paths);
        }
        let all = match self.explicit.get(&(from, to)) {
            Some(&index) => {
                check_route(scenario, index)?;
                vec![scenario.routes[index].via.clone()]
            }
            None if scenario.ecmp => self.shortest_paths(scenario, from, to),
            None => self.shortest_path(scenario, from, to).into_iter().collect(),
        };
        let Some(first) = all.first() else {
            let name = |node: u32| &scenario.nodes[node as usize];
            return Err(invalid("topology", format!("no path leads from node {} to node {}", name(from), name(to))));
        };
        let Ok(length) = u16::try_from(first.len() + 1) else {
            return Err(invalid(
                "topology",
                format!("a route has {} links; the most are {}", first.len(), u16::MAX - 1),
            ));
        };
        let paths = Paths { start: self.hops.len() as u32, count: all.len() as u16, length };
        for path in all {
            self.hops.extend(path);
            self.hops.push(DELIVER);
        }
        self.found.insert((from, to), paths);
        Ok(paths)
    }

    /// All paths with the fewest hops, those by links of lower index first; at most [`MOST_PATHS`].
    fn shortest_paths(&mut self, scenario: &Scenario, from: u32, to: u32) -> Vec<Vec<u32>> {
        let Some((mut path, root)) = self.forced(scenario, from, to) else { return Vec::new() };
        let tree = self.tree(scenario, root);
        if root == to {
            return vec![path];
        }
        if !tree[to as usize].is_reached() {
            return Vec::new();
        }
        let on_the_way = self.on_the_way(scenario, &tree, to);
        // Depth first, with the links still to be tried of each node on the way.
        let (mut paths, mut untried) = (Vec::new(), vec![self.leaving[root as usize].iter()]);
        while let Some(links) = untried.last_mut() {
            let Some(&index) = links.next() else {
                untried.pop();
                path.pop();
                continue;
            };
            let next = scenario.links[index as usize].to;
            if tree[next as usize].distance as usize != untried.len() || !on_the_way.contains(&next) {
                continue;
            }
            path.push(index);
            if next == to {
                paths.push(path.clone());
                if paths.len() == MOST_PATHS {
                    break;
                }
                path.pop();
            } else {
                untried.push(self.leaving[next as usize].iter());
            }
        }
        paths
    }

    fn shortest_path(&mut self, scenario: &Scenario, from: u32, to: u32) -> Option<Vec<u32>> {
        let (mut path, root) = self.forced(scenario, from, to)?;
        let tree = self.tree(scenario, root);
        if !tree[to as usize].is_reached() {
            return None;
        }
        let (forced, mut at) = (path.len(), to);
        while at != root {
            let link = tree[at as usize].entered_by;
            path.push(link);
            at = scenario.links[link as usize].from;
        }
        path[forced..].reverse();
        Some(path)
    }

    /// The links with which every path begins, as they are the only ones that leave their nodes, and the node to which
    /// they lead; `None` if they do not lead there.
    fn forced(&self, scenario: &Scenario, from: u32, to: u32) -> Option<(Vec<u32>, u32)> {
        let (mut path, mut at) = (Vec::new(), from);
        while let (true, [link]) = (at != to, &self.leaving[at as usize][..]) {
            path.push(*link);
            at = scenario.links[*link as usize].to;
            if at == from || path.len() > scenario.nodes.len() {
                return None;
            }
        }
        Some((path, at))
    }

    /// The nodes on the shortest paths from the root of the tree to this node, which it reaches.
    fn on_the_way(&self, scenario: &Scenario, tree: &[Entry], to: u32) -> BTreeSet<u32> {
        let (mut nodes, mut frontier) = (BTreeSet::from([to]), vec![to]);
        while let Some(node) = frontier.pop() {
            let nearer = tree[node as usize].distance.checked_sub(1);
            for &index in &self.entering[node as usize] {
                let previous = scenario.links[index as usize].from;
                if Some(tree[previous as usize].distance) == nearer && nodes.insert(previous) {
                    frontier.push(previous);
                }
            }
        }
        nodes
    }

    fn tree(&mut self, scenario: &Scenario, root: u32) -> Rc<[Entry]> {
        if let Some(tree) = self.trees.get(&root) {
            return Rc::clone(tree);
        }
        let mut tree = vec![Entry::UNREACHED; scenario.nodes.len()];
        tree[root as usize].distance = 0;
        let mut frontier = VecDeque::from([root]);
        while let Some(node) = frontier.pop_front() {
            for &index in &self.leaving[node as usize] {
                let next = scenario.links[index as usize].to;
                if !tree[next as usize].is_reached() {
                    tree[next as usize] = Entry { entered_by: index, distance: tree[node as usize].distance + 1 };
                    frontier.push_back(next);
                }
            }
        }
        if self.trees.len() == MAX_TREES {
            self.trees.clear();
        }
        let tree: Rc<[Entry]> = tree.into();
        self.trees.insert(root, Rc::clone(&tree));
        tree
    }
}

/// Checks that an explicit route is a chain of links from its first to its last node.
fn check_route(scenario: &Scenario, index: usize) -> Result<(), ScenarioError> {
    let route = &scenario.routes[index];
    let mut at = route.from;
    for (k, &link) in route.via.iter().enumerate() {
        let place = format!("routes[{index}].via[{k}]");
        let Some(spec) = scenario.links.get(link as usize) else {
            return Err(invalid(place, format!("link {link} does not exist")));
        };
        if spec.from != at {
            return Err(invalid(
                place,
                format!(
                    "link {} does not leave node {}, where the route is by then",
                    spec.name, scenario.nodes[at as usize]
                ),
            ));
        }
        at = spec.to;
    }
    if at == route.to && !route.via.is_empty() {
        Ok(())
    } else {
        Err(invalid(format!("routes[{index}]"), "the route does not end at its last node"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario with nodes `a` to `d`, these links (pairs of node indices) and these explicit routes (JSON).
    fn scenario(links: &[(u32, u32)], routes: &str) -> Scenario {
        let links: Vec<String> = links
            .iter()
            .map(|(from, to)| {
                format!(r#"{{"name":"{from}>{to}","from":{from},"to":{to},"rate_bps":1000,"delay_ns":0,"queue":{{"kind":"infinite"}}}}"#)
            })
            .collect();
        let text = format!(
            r#"{{"duration_ns":1,"nodes":["a","b","c","d"],"links":[{}],"routes":[{routes}],"tcp":[],"traffic":[]}}"#,
            links.join(",")
        );
        Scenario::from_json(&text).unwrap()
    }

    fn route(scenario: &Scenario, from: u32, to: u32) -> Result<Vec<u32>, String> {
        let mut routes = Routes::new(scenario);
        let paths = routes.resolve(scenario, from, to).map_err(|error| error.to_string())?;
        assert!(!paths.are_several());
        Ok(routes.links(paths.start).collect())
    }

    #[test]
    fn the_shortest_path_is_taken_and_ties_go_to_the_lower_link() {
        let scenario = scenario(&[(0, 2), (0, 1), (1, 3), (2, 3), (0, 1), (3, 0)], "");
        assert_eq!(route(&scenario, 0, 3), Ok(vec![0, 3]));
        assert_eq!(route(&scenario, 0, 1), Ok(vec![1]));
        assert_eq!(route(&scenario, 1, 0), Ok(vec![2, 5]));
    }

    #[test]
    fn a_path_through_nodes_with_one_way_out_is_found_and_a_ring_has_an_end() {
        let chain = scenario(&[(0, 1), (1, 2), (2, 1), (2, 3), (3, 2)], "");
        assert_eq!(route(&chain, 0, 3), Ok(vec![0, 1, 3]));
        assert_eq!(route(&chain, 3, 1), Ok(vec![4, 2]));
        assert_eq!(route(&chain, 0, 1), Ok(vec![0]));
        let ring = scenario(&[(0, 1), (1, 2), (2, 1)], "");
        assert!(route(&ring, 0, 3).unwrap_err().contains("no path leads from node a to node d"));
    }

    #[test]
    fn with_ecmp_all_shortest_paths_are_found_and_a_hash_chooses_one() {
        // Two spines, two leaves (1 and 2 behind host 0), and a detour that is longer.
        let mut fabric = scenario(&[(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (0, 1)], "");
        fabric.ecmp = true;
        let mut routes = Routes::new(&fabric);
        assert_eq!(routes.between(&fabric, 0, 3).unwrap(), [[0, 2], [1, 3], [5, 2]]);
        let paths = routes.resolve(&fabric, 0, 3).unwrap();
        let taken: Vec<Vec<u32>> = (0..4).map(|hash| routes.links(paths.choose(hash)).collect()).collect();
        assert_eq!(taken, [vec![0, 2], vec![1, 3], vec![5, 2], vec![0, 2]]);
        assert!(routes.between(&fabric, 3, 0).unwrap().is_empty());
        assert_eq!(routes.between(&fabric, 0, 2).unwrap(), [[1]]);
        let explicit = Scenario { routes: scenario(&[], r#"{"from":0,"to":3,"via":[1,3]}"#).routes, ..fabric };
        assert_eq!(Routes::new(&explicit).between(&explicit, 0, 3).unwrap(), [[1, 3]]);
    }

    #[test]
    fn paths_beyond_the_most_are_left_out() {
        let links: Vec<(u32, u32)> = (0..20).flat_map(|_| [(0, 1), (1, 2)]).collect();
        let many = Scenario { ecmp: true, ..scenario(&links, "") };
        let found = Routes::new(&many).between(&many, 0, 2).unwrap();
        assert_eq!(found.len(), MOST_PATHS);
        assert!(found.iter().all(|path| path.len() == 2 && path[0] % 2 == 0 && path[1] % 2 == 1));
    }

    #[test]
    fn hosts_behind_one_router_share_its_tree() {
        let star = scenario(&[(0, 3), (3, 0), (1, 3), (3, 1), (2, 3), (3, 2)], "");
        let mut routes = Routes::new(&star);
        for (from, to) in [(0, 1), (1, 2), (2, 0), (1, 0)] {
            routes.resolve(&star, from, to).unwrap();
        }
        assert_eq!(routes.trees.keys().copied().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn an_explicit_route_wins_and_must_be_a_chain() {
        let links = [(0, 3), (0, 1), (1, 3)];
        let explicit = |via: &str| scenario(&links, &format!(r#"{{"from":0,"to":3,"via":[{via}]}}"#));
        assert_eq!(route(&explicit("1,2"), 0, 3), Ok(vec![1, 2]));
        let wrong = |via| route(&explicit(via), 0, 3).unwrap_err();
        assert_eq!(wrong("2"), "routes[0].via[0]: link 1>3 does not leave node a, where the route is by then");
        assert_eq!(wrong("1"), "routes[0]: the route does not end at its last node");
        assert_eq!(wrong("9"), "routes[0].via[0]: link 9 does not exist");
    }
}
