package runrecord

import "time"

// Status is the present state of a run.
type Status struct {
	// Cluster and Real are the time that has passed in the cluster and on the machine.
	Cluster, Real time.Duration
	// Faults are the titles of the faults that go on.
	Faults []string
}

// Status returns the present state of the run. It may be called at any time, and on nil.
func (r *Recorder) Status() Status {
	if r == nil {
		return Status{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Cluster: r.now(), Real: r.elapsed()}
	for i := range r.run.Spans {
		if span := &r.run.Spans[i]; span.Kind == Fault && span.End < 0 {
			s.Faults = append(s.Faults, span.Title)
		}
	}
	return s
}
