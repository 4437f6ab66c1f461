package report

import (
	"slices"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// instant is the duration below which the plots of a run show the order of writes instead of time:
// in virtual time, much can happen at one instant.
const instant = 50 * time.Millisecond

// sequence is a run whose times are not the cluster's but the order of the writes: one
// nanosecond each. ok is false if the run has a course in time, or too little of it is
// in the record.
func sequence(run *runrecord.Run) (out *runrecord.Run, ok bool) {
	if run.Cluster >= instant || len(run.Writes) < 2 || run.Totals.ForgottenWrites > 0 {
		return run, false
	}
	first, last := run.Writes[0].Revision, run.Writes[0].Revision
	for i := range run.Writes {
		first, last = min(first, run.Writes[i].Revision), max(last, run.Writes[i].Revision)
	}
	at := func(revision int64) time.Duration { return time.Duration(min(max(revision-first, 0), last-first)) }
	copied := *run
	copied.Cluster = at(last)
	copied.Spans = slices.Clone(run.Spans)
	for i := range copied.Spans {
		s := &copied.Spans[i]
		s.Begin, s.Notes = at(s.BeginRevision), slices.Clone(s.Notes)
		if s.End >= 0 {
			s.End = at(s.EndRevision)
		}
		for n := range s.Notes {
			s.Notes[n].At = at(s.Notes[n].Revision)
		}
	}
	copied.Events = slices.Clone(run.Events)
	for i := range copied.Events {
		copied.Events[i].At = at(copied.Events[i].Revision)
	}
	copied.Pods = podsInOrder(run.Writes, at, int(last-first)+1)
	copied.Controllers = writersInOrder(run, at, int(last-first)+1)
	return &copied, true
}

// podsInOrder follows the pods' phases from write to write.
func podsInOrder(writes []minikcm.Write, at func(int64) time.Duration, n int) runrecord.Pods {
	type moment struct {
		at   int
		pod  string
		next runrecord.Phase
	}
	var moments []moment
	for i := range writes {
		if w := &writes[i]; w.Resource.Resource == "pods" && w.Resource.Group == "" {
			moments = append(moments, moment{int(at(w.Revision)), string(w.UID), phaseAfter(w)})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at - b.at })
	pods := runrecord.Pods{Width: 1, Phases: map[runrecord.Phase]runrecord.Curve{}}
	current := map[string]runrecord.Phase{}
	for i, next := 0, 0; i < n; i++ {
		for ; next < len(moments) && moments[next].at <= i; next++ {
			m := moments[next]
			switch m.next {
			case gone:
				delete(current, m.pod)
			case unchanged:
			default:
				current[m.pod] = m.next
			}
		}
		counts := map[runrecord.Phase]int{}
		for _, p := range current {
			counts[p]++
		}
		for p := range counts {
			if _, known := pods.Phases[p]; !known {
				pods.Phases[p] = runrecord.Curve{Min: make([]int, i), Max: make([]int, i), Last: make([]int, i)}
			}
		}
		for p, c := range pods.Phases {
			c.Min, c.Max, c.Last = append(c.Min, counts[p]), append(c.Max, counts[p]), append(c.Last, counts[p])
			pods.Phases[p] = c
		}
	}
	return pods
}

// What a write says of a pod's phase beside the phases.
const (
	gone      runrecord.Phase = "gone"
	unchanged runrecord.Phase = "unchanged"
)

func phaseAfter(w *minikcm.Write) runrecord.Phase {
	switch w.Effect {
	case minikcm.Created:
		return runrecord.Pending
	case minikcm.Removed:
		return gone
	}
	next := unchanged
	for _, c := range w.Changes {
		switch {
		case c.Path == "metadata.deletionTimestamp":
			return runrecord.Terminating
		case c.Path == "status.phase" && next != runrecord.Ready:
			next = runrecord.Phase(c.To)
		case (c.Path == "status.conditions[Ready]" || c.Path == "status.conditions[Ready].status") && c.To == "True":
			next = runrecord.Ready
		case c.Path == "status.conditions[Ready].status" && next == unchanged:
			next = runrecord.Running
		}
	}
	return next
}

func writersInOrder(run *runrecord.Run, at func(int64) time.Duration, n int) []runrecord.Controller {
	// Some hundred bars remain distinct.
	width := max(n/200, 1)
	var out []runrecord.Controller
	for _, c := range run.Controllers {
		counts := make([]int64, n/width+1)
		for i := range run.Writes {
			if run.Writes[i].Writer() == c.Name {
				counts[int(at(run.Writes[i].Revision))/width]++
			}
		}
		if total(counts) > 0 {
			out = append(out, runrecord.Controller{Name: c.Name, Width: time.Duration(width), Writes: counts})
		}
	}
	return out
}
