package plugins

import (
	"fmt"
	"slices"
	"strings"
)

// Diagnosis is why a pod fits on no node.
type Diagnosis struct {
	// Nodes is the number of nodes.
	Nodes int
	// Conflict is a reason that does not depend on the nodes; "": none.
	Conflict string
	// ByVolumes is set if the conflict is one of the pod's claims.
	ByVolumes bool
	// Deallocation is the message about resource claims that are deallocated; "": none is.
	Deallocation string
	// Preemption is the message of preemption; "": it was not tried.
	Preemption string

	// byIndex are the rejections by index in the snapshot; nil until the first one.
	byIndex []*rejection
	// absent is the rejection of nodes that were not tried.
	absent *rejection
	// conflictOfDevices is set if the conflict is one of the pod's resource claims.
	conflictOfDevices bool
}

func (d *Diagnosis) reject(index int, r *rejection) {
	if d.byIndex == nil {
		d.byIndex = make([]*rejection, d.Nodes)
	}
	d.byIndex[index] = r
}

// notNamed is the rejection of nodes that the pod's node affinity does not name. As in kube-scheduler, its reason
// also has the plugin that rejected the node that is freed for the pod.
func (d *Diagnosis) notNamed() *rejection {
	for _, r := range d.byIndex {
		if r != nil && r.plugin != NodeAffinity {
			plugins := []string{NodeAffinity, r.plugin}
			slices.Sort(plugins)
			return &rejection{plugin: NodeAffinity, reasons: []string{fmt.Sprintf(reasonNotNamed, strings.Join(plugins, " "))}, final: true}
		}
	}
	return fixed.notNamed
}

// at returns the rejection of the node at the index in the snapshot.
func (d *Diagnosis) at(index int) *rejection {
	if d.byIndex != nil && d.byIndex[index] != nil {
		return d.byIndex[index]
	}
	return d.absent
}

// ByRules reports whether pods on other nodes are a reason against any node.
func (d *Diagnosis) ByRules() bool {
	return slices.ContainsFunc(d.byIndex, func(r *rejection) bool { return r != nil && r.rule })
}

// ByResources reports whether resources are a reason against any node.
func (d *Diagnosis) ByResources() bool {
	return slices.ContainsFunc(d.byIndex, func(r *rejection) bool { return r != nil && r.plugin == NodeResourcesFit })
}

// ByDevices reports whether the pod's resource claims are a reason against any node (some), and
// whether they are the reason against all (only).
func (d *Diagnosis) ByDevices() (some, only bool) {
	if d.Conflict != "" {
		return d.conflictOfDevices, d.conflictOfDevices
	}
	only = true
	for i := range d.Nodes {
		r := d.at(i)
		of := r != nil && r.devices
		some, only = some || of, only && of
	}
	return some, some && only
}

// FailPostFilter reports whether a plugin before DynamicResources has rejected the pod, whatever the node. As in
// kube-scheduler 1.37, that plugin's PostFilter then fails, since it lacks the state of its PreFilter, and
// preemption, which could not help, is not tried. The message says so.
func (d *Diagnosis) FailPostFilter() bool {
	if d.Conflict == "" || d.conflictOfDevices {
		return false
	}
	d.Deallocation = messageNoState
	return true
}

// AddPreemption adds the result of preemption. If it found a node to free, the message about resource claims
// is dropped, as in kube-scheduler.
func (d *Diagnosis) AddPreemption(p *Preemption) {
	d.Preemption = p.Message
	if p.Node != "" {
		d.Preemption, d.Deallocation = fmt.Sprintf(messageFound, p.Node, len(p.Victims)), ""
	}
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
	if d.Deallocation != "" {
		b.WriteString(" " + d.Deallocation)
	}
	if d.Preemption != "" {
		if d.Deallocation != "" {
			b.WriteString(",")
		}
		b.WriteString(" preemption: " + d.Preemption)
	}
	return b.String()
}

// counts returns a line for each reason, sorted alphabetically.
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
