//! Cuts of graphs whose best cuts are known.

use super::*;

const ORDERS: [Order; 2] = [Order::Grown, Order::Spectral];

fn path(n: u32) -> Graph {
    let edges: Vec<_> = (1..n).map(|v| (v - 1, v, 1.0)).collect();
    Graph::from_edges(n as usize, &edges)
}

fn grid(side: u32) -> Graph {
    let mut edges = Vec::new();
    for v in 0..side * side {
        if v % side + 1 < side {
            edges.push((v, v + 1, 1.0));
        }
        if v + side < side * side {
            edges.push((v, v + side, 1.0));
        }
    }
    Graph::from_edges((side * side) as usize, &edges)
}

fn all(graph: &Graph) -> Vec<u32> {
    (0..graph.len() as u32).collect()
}

/// Cuts the whole graph and checks the number and the sizes of the parts.
fn cut_all(graph: &Graph, most: usize, order: Order) -> (usize, Vec<u32>) {
    let (count, part) = cut(graph, &all(graph), most, order);
    let mut size = vec![0; count];
    part.iter().for_each(|&p| size[p as usize] += 1);
    assert!(size.iter().all(|&s| s > 0 && s <= most), "{size:?}");
    (count, part)
}

fn cost(graph: &Graph, part: &[u32]) -> f64 {
    let row = |v: usize| graph.neighbours(v).map(move |(u, w)| (v, u as usize, w));
    let across = (0..graph.len())
        .flat_map(row)
        .filter(|&(v, u, _)| part[v] != part[u]);
    across.map(|edge| edge.2).sum::<f64>() / 2.0
}

fn clique(from: u32, to: u32, weight: f64) -> Vec<(u32, u32, f64)> {
    (from..to)
        .flat_map(|a| (a + 1..to).map(move |b| (a, b, weight)))
        .collect()
}

#[test]
fn edges_are_summed_and_cleaned() {
    let edges = [
        (0, 1, 1.0),
        (1, 0, 2.0),
        (1, 1, 5.0),
        (1, 2, f64::NAN),
        (0, 2, -3.0),
        (2, 9, 1.0),
    ];
    let graph = Graph::from_edges(3, &edges);
    let rows: Vec<Vec<_>> = (0..4).map(|v| graph.neighbours(v).collect()).collect();
    assert_eq!(rows[0], [(1, 3.0), (2, 0.0)]);
    assert_eq!(rows[1], [(0, 3.0), (2, 0.0)]);
    assert_eq!(rows[2], [(0, 0.0), (1, 0.0)]);
    assert!(rows[3].is_empty());
}

#[test]
fn a_path_falls_into_segments() {
    for order in ORDERS {
        let (count, part) = cut_all(&path(60), 10, order);
        assert_eq!((count, cost(&path(60), &part)), (6, 5.0), "{order:?}");
    }
}

#[test]
fn a_grid_is_cut_nearly_as_well_as_into_blocks() {
    for order in ORDERS {
        let (count, part) = cut_all(&grid(24), 48, order);
        assert_eq!(count, 12);
        let cost = cost(&grid(24), &part);
        assert!(cost <= 1.3 * 120.0, "{order:?} {cost}");
    }
}

#[test]
fn cliques_are_cut_at_their_bridge() {
    let mut edges = clique(0, 12, 1.0);
    edges.extend(clique(12, 21, 1.0));
    edges.push((3, 17, 0.01));
    for order in ORDERS {
        let part = cut_all(&Graph::from_edges(21, &edges), 12, order).1;
        assert!(
            part.iter().enumerate().all(|(v, &p)| (p == 1) == (v >= 12)),
            "{part:?}"
        );
    }
}

#[test]
fn a_ring_is_cut_at_its_weak_edges() {
    let weak = |v: u32| if v % 10 == 4 { 1e-3 } else { 1.0 };
    let edges: Vec<_> = (0..40).map(|v| (v, (v + 1) % 40, weak(v))).collect();
    for order in ORDERS {
        let graph = Graph::from_edges(40, &edges);
        let (count, part) = cut_all(&graph, 10, order);
        assert_eq!(count, 4);
        assert!(
            (cost(&graph, &part) - 4e-3).abs() < 1e-12,
            "{order:?} {part:?}"
        );
    }
}

#[test]
fn components_are_kept_whole_where_they_fit() {
    let mut edges = Vec::new();
    for first in [0, 4, 8, 12, 16] {
        edges.extend(clique(first, first + 4, 1.0));
    }
    let graph = Graph::from_edges(23, &edges);
    for order in ORDERS {
        let part = cut_all(&graph, 12, order).1;
        assert_eq!(cost(&graph, &part), 0.0);
        let lone = Graph::from_edges(7, &[]);
        assert_eq!(cut_all(&lone, 2, order).0, 4);
    }
}

#[test]
fn few_vertices_make_one_part() {
    for order in ORDERS {
        assert_eq!(cut(&path(9), &[], 3, order), (0, vec![]));
        assert_eq!(cut(&path(9), &[4, 5, 6], 3, order), (1, vec![0; 3]));
        assert_eq!(
            cut(&path(9), &[6, 5, 4, 3], 2, order),
            (2, vec![0, 0, 1, 1])
        );
        assert_eq!(cut(&path(3), &[0, 1, 2], 0, order), (3, vec![0, 1, 2]));
    }
}

#[test]
fn odd_weights_and_sizes_do_no_harm() {
    let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 1e-300, 1.0];
    let edges: Vec<_> = (0..600_u32)
        .map(|e| {
            (
                e * 7919 % 211,
                e * 104_729 % 223,
                odd[e as usize % odd.len()],
            )
        })
        .collect();
    let graph = Graph::from_edges(230, &edges);
    for order in ORDERS {
        for most in [1, 2, 3, 7, 31, 100, 229] {
            cut_all(&graph, most, order);
        }
    }
}

#[test]
fn the_outcome_does_not_depend_on_the_run_or_the_order_of_the_vertices() {
    let graph = grid(17);
    let vertices: Vec<u32> = all(&graph).into_iter().filter(|v| v % 5 != 3).collect();
    let backward: Vec<u32> = vertices.iter().rev().copied().collect();
    for order in ORDERS {
        let (count, part) = cut(&graph, &vertices, 20, order);
        assert_eq!((count, part.clone()), cut(&graph, &vertices, 20, order));
        let (same, mut other) = cut(&graph, &backward, 20, order);
        other.reverse();
        let mut pairs: Vec<_> = part.into_iter().zip(other).collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!((count, count), (same, pairs.len()));
    }
}

#[test]
fn scraps_do_not_swap_places() {
    let graph = path(6);
    let mut part = vec![0, 0, 1, 0, 1, 1];
    join_scraps(&Local::new(&graph, &all(&graph)), &mut part, 3);
    assert_eq!(part, [0, 0, 1, 0, 1, 1]);
}

#[test]
fn scraps_go_to_the_part_that_holds_them() {
    let graph = path(6);
    let mut part = vec![0, 0, 1, 0, 1, 1];
    join_scraps(&Local::new(&graph, &all(&graph)), &mut part, 4);
    assert_eq!(part, [0, 0, 0, 0, 1, 1]);
}
