package graph

import (
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// WriteDOT writes the objects that are connected with the given ones, or all if none are
// given. Edges lead from an object to its owners.
func (g *Graph) WriteDOT(w io.Writer, uids []types.UID) {
	shown := g.connected(uids)
	_, _ = fmt.Fprintln(w, "strict digraph full {")
	_, _ = fmt.Fprintln(w, "  // Nodes.")
	for _, uid := range shown {
		n := g.nodes[uid]
		_, _ = fmt.Fprintf(w, "  %q [label=%q namespace=%q name=%q kind=%q apiVersion=%q missing=%q beingDeleted=%q deletingDependents=%q virtual=%q];\n", uid,
			fmt.Sprintf("uid=%s\nnamespace=%s\n%s.%s/%s\n", uid, n.Namespace, n.Kind, n.APIVersion, n.Name),
			n.Namespace, n.Name, n.Kind, n.APIVersion,
			yes(g.absent.has(n.Coordinates)), yes(n.Deleting), yes(n.deletesDependents()), yes(!n.seen))
	}
	_, _ = fmt.Fprintln(w, "  // Edges.")
	for _, uid := range shown {
		for _, owner := range g.nodes[uid].Owners {
			_, _ = fmt.Fprintf(w, "  %q -> %q;\n", uid, owner.UID)
		}
	}
	_, _ = fmt.Fprintln(w, "}")
}

func yes(b bool) string { return fmt.Sprint(b) }

// connected returns the objects that have owners or dependents, sorted by UID. With uids,
// it returns only those that can be reached from one of them, up or down.
func (g *Graph) connected(uids []types.UID) []types.UID {
	found := sets.New[types.UID]()
	if len(uids) == 0 {
		for uid, n := range g.nodes {
			if len(n.Owners) > 0 || len(n.dependents) > 0 {
				found.Insert(uid)
			}
		}
	}
	for next := slices.Clone(uids); len(next) > 0; {
		uid := next[len(next)-1]
		next = next[:len(next)-1]
		n := g.nodes[uid]
		if n == nil || found.Has(uid) {
			continue
		}
		found.Insert(uid)
		for dependent := range n.dependents {
			next = append(next, dependent)
		}
		for _, owner := range n.Owners {
			next = append(next, owner.UID)
		}
	}
	return sets.List(found)
}
