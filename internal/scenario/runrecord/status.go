package runrecord

import "time"

// Status is what is going on in a run.
type Status struct {
	// Cluster and Real are how much time has passed in the cluster and on the machine.
	Cluster, Real time.Duration
	// Faults are the titles of those that go on.
	Faults []string
}

// Status says what is going on now. It may be called at any time, and on nil.
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
