package minikcm

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// History is how much of the store's history is kept, so that clients can list and watch from
// earlier revisions. At most one of its fields is set. Each revision takes the size of the object
// that it wrote.
type History struct {
	// Duration is the cluster's time whose revisions are kept, and up to five minutes more.
	Duration time.Duration
	// Revisions is the number of the newest revisions that are kept; the revisions of up to five
	// minutes more are there.
	Revisions int64
}

// ParseHistory reads a duration, such as 1h30m, or a number of revisions.
func ParseHistory(text string) (History, error) {
	if revisions, err := strconv.ParseInt(text, 10, 64); err == nil && revisions > 0 {
		return History{Revisions: revisions}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= minHistory {
		return History{Duration: d}, nil
	}
	return History{}, fmt.Errorf("%q is neither a duration of at least %v, such as 1h30m, nor a number of revisions, such as 20000", text, minHistory)
}

// minHistory is the shortest time that can be kept: clients need some of it to resume watches.
const minHistory = 10 * time.Second

// validate returns an error for a history that cannot be kept.
func (h History) validate() error {
	switch {
	case h.Duration < 0, h.Revisions < 0:
		return errors.New("the history to keep must not be negative")
	case h.Duration > 0 && h.Revisions > 0:
		return errors.New("both a duration and a number of revisions of history were given: choose one")
	}
	return nil
}

// text returns a history as ParseHistory reads it; empty for the zero value.
func (h History) text() string {
	switch {
	case h.Revisions > 0:
		return strconv.FormatInt(h.Revisions, 10)
	case h.Duration > 0:
		return h.Duration.String()
	}
	return ""
}
