package loop

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// maxListed caps the keys that a State lists of each kind.
const maxListed = 200

// State is the state of a loop at one moment, for display. Its lists are capped.
type State struct {
	Name    string       `json:"name"`
	Workers int          `json:"workers"`
	Watches []WatchState `json:"watches"`
	// Queued are the keys that wait for a worker, in the order in which they were added, and the
	// keys that a fault holds back. Keys that a fault slows are in Delayed.
	Queued      []string `json:"queued"`
	QueuedCount int      `json:"queuedCount"`
	// Processing are the keys that workers have, Delayed the keys that wait for a time.
	Processing   []Processing `json:"processing"`
	Delayed      []Waiting    `json:"delayed"`
	DelayedCount int          `json:"delayedCount"`
	Reconciles   int64        `json:"reconciles"`
	Failures     int64        `json:"failures"`
	Retries      int64        `json:"retries"`
}

// Processing is a key that a worker has. Times are the cluster's.
type Processing struct {
	Key   string    `json:"key"`
	Since time.Time `json:"since"`
}

// Waiting is a key that is queued at a time. Failures counts its consecutive failures: with
// some, it is a retry.
type Waiting struct {
	Key      string    `json:"key"`
	Due      time.Time `json:"due"`
	Failures int       `json:"failures,omitempty"`
}

// WatchState is an informer that a loop watches.
type WatchState struct {
	// Kind is empty while the informer has no object.
	Kind string `json:"kind,omitempty"`
	// Objects is the number of objects in the indexer.
	Objects int `json:"objects"`
	// Received are the events of the watch that are not in the informer's queue yet, and
	// Undelivered the changes between this queue and the end of the handlers.
	Received    int `json:"received"`
	Undelivered int `json:"undelivered"`
}

func (l *typed[K]) State() State {
	stats := l.Stats()
	s := State{
		Name: l.opts.Name, Workers: l.opts.Workers, Watches: []WatchState{}, Queued: []string{}, Processing: []Processing{}, Delayed: []Waiting{},
		Reconciles: stats.Reconciles, Failures: stats.Failures, Retries: stats.Retries,
	}
	waiting, count := l.queue.Waiting(maxListed)
	for _, key := range waiting {
		s.Queued = append(s.Queued, l.keyText(key))
	}
	for _, p := range stats.InProgress[:min(len(stats.InProgress), maxListed)] {
		s.Processing = append(s.Processing, Processing{l.keyText(p.Key), p.Since.UTC()})
	}
	delays := l.delays.list()
	if d := l.disturbances.Load(); d != nil {
		for _, key := range d.held() {
			s.Queued = append(s.Queued, l.keyText(key))
		}
		maps.Copy(delays, d.slowed.list())
	}
	s.QueuedCount = count - len(waiting) + len(s.Queued)
	s.Queued = s.Queued[:min(len(s.Queued), maxListed)]
	for key, due := range delays {
		s.Delayed = append(s.Delayed, Waiting{l.keyText(key), due.UTC(), stats.Failing[key]})
	}
	slices.SortFunc(s.Delayed, func(a, b Waiting) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key)) })
	s.DelayedCount = len(s.Delayed)
	s.Delayed = s.Delayed[:min(len(s.Delayed), maxListed)]
	for _, w := range l.watches {
		s.Watches = append(s.Watches, w.state())
	}
	return s
}

// kind returns the kind of the informer's objects; empty: it has none.
func (w *watch) kind() string {
	indexer := w.informer.GetIndexer()
	for _, key := range indexer.ListKeys() {
		if o, ok, err := indexer.GetByKey(key); ok && err == nil {
			return kindOf(o)
		}
	}
	return ""
}

func (l *typed[K]) Delays() map[K]time.Time { return l.delays.list() }

func (w *watch) state() WatchState {
	s := WatchState{Objects: len(w.informer.GetIndexer().ListKeys()), Kind: w.kind()}
	if source := w.handler.source; source != nil {
		s.Received, s.Undelivered = source.Backlog()
	}
	return s
}
