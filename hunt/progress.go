package hunt

import "sync"

// Progress is how far a hunt has come.
type Progress struct {
	// Runs of Planned disturbed runs are over.
	Runs, Planned int
	// Tried of Points writes of the operator have been disturbed.
	Tried, Points int
	// Findings counts the different ends so far.
	Findings int
}

// tally counts the progress. It is safe for concurrent use.
type tally struct {
	mu       sync.Mutex
	progress Progress
	tried    map[Point]bool
	findings map[string]bool
}

func newTally(planned, points int) *tally {
	return &tally{progress: Progress{Planned: planned, Points: points}, tried: map[Point]bool{}, findings: map[string]bool{}}
}

// add counts a run.
func (t *tally) add(disturbances []Disturbance, v verdict) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range disturbances {
		t.tried[d.At] = true
	}
	if v.bad() {
		t.findings[v.signature()] = true
	}
	t.progress.Runs++
	t.progress.Tried, t.progress.Findings = len(t.tried), len(t.findings)
	return t.progress
}
