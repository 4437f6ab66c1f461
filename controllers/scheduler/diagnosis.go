package scheduler

import (
	"fmt"
	"slices"
	"strings"
)

// Diagnosis says why a pod fits nowhere.
type Diagnosis struct {
	// Nodes is how many there are.
	Nodes int
	// Conflict is what is wrong with the pod whatever the nodes are; "": nothing.
	Conflict string
	// Preemption is what preemption had to say; "": it found victims.
	Preemption string

	// byPlace has the rejections by place in the snapshot; nil until the first.
	byPlace []*rejection
	// absent is the rejection of nodes that were not looked at.
	absent *rejection
}

func (d *Diagnosis) reject(place int, r *rejection) {
	if d.byPlace == nil {
		d.byPlace = make([]*rejection, d.Nodes)
	}
	d.byPlace[place] = r
}

// at returns the rejection of the node at a place in the snapshot.
func (d *Diagnosis) at(place int) *rejection {
	if d.byPlace != nil && d.byPlace[place] != nil {
		return d.byPlace[place]
	}
	return d.absent
}

// ruled reports whether pods elsewhere are a reason against any node.
func (d *Diagnosis) ruled() bool {
	return slices.ContainsFunc(d.byPlace, func(r *rejection) bool { return r != nil && r.rule })
}

const noNodes = "no nodes available to schedule pods"

// Message is the text of the FailedScheduling event and of the PodScheduled
// condition, in kube-scheduler's words.
func (d *Diagnosis) Message() string {
	if d.Nodes == 0 {
		return noNodes
	}
	var b strings.Builder
	fmt.Fprintf(&b, "0/%d nodes are available:", d.Nodes)
	if d.Conflict != "" {
		b.WriteString(" " + d.Conflict + ".")
	} else if counts := d.counts(); len(counts) > 0 {
		b.WriteString(" " + strings.Join(counts, ", ") + ".")
	}
	if d.Preemption != "" {
		b.WriteString(" preemption: " + d.Preemption)
	}
	return b.String()
}

// counts has a line for each reason, sorted as text.
func (d *Diagnosis) counts() []string {
	nodes := map[string]int{}
	for i := range d.Nodes {
		if r := d.at(i); r != nil {
			for _, reason := range r.reasons {
				nodes[reason]++
			}
		}
	}
	lines := make([]string, 0, len(nodes))
	for reason, n := range nodes {
		lines = append(lines, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(lines)
	return lines
}
