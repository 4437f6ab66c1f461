package hunt

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/inflight"
)

var (
	errModified  = errors.New("the object has been modified; please apply your changes to the latest version and try again")
	errDisturbed = errors.New("a disturbance of the hunt")
)

// write passes a write on, and does what is planned for it.
func (c *connection) write(req *http.Request, a *asked) (*http.Response, error) {
	at, err := a.point(req)
	if err != nil {
		c.life.course.fail(err)
		return nil, err
	}
	if err := c.life.course.slow(req.Context()); err != nil {
		return nil, err
	}
	index, action, acts := c.life.meets(at)
	defer func() {
		for i := range acts {
			c.life.course.act(&acts[i])
		}
	}()
	switch action {
	case CrashBefore:
		c.life.crash()
		return nil, errRefused
	case LateArrival:
		if err := c.arrives(req, index); err != nil {
			return nil, err
		}
		c.life.crash()
		return nil, errRefused
	}
	if err := refusal(action, a, &at); err != nil {
		return c.refuse(req, index, err), nil
	}
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	c.life.course.answered(index, resp.StatusCode)
	switch action {
	case CrashAfter, StaleRestart:
		discard(resp)
		c.life.crash()
		return nil, errRefused
	case SlowAnswer:
		if !c.life.course.slowly(req.Context()) {
			c.life.course.unmet(index)
		}
		if c.life.isOver() { // another disturbance has ended it
			discard(resp)
			return nil, errRefused
		}
	case LostAnswer:
		discard(resp)
		return statusResponse(req, apierrors.NewTimeoutError("request did not complete within the requested timeout", 0)), nil
	}
	return resp, nil
}

const (
	// maxBurst is how many writes an operator makes within a second before each takes writeTime.
	maxBurst  = 50
	writeTime = 10 * time.Millisecond
)

// slow lets time pass before a write that follows many others within a second. A machine gives writes time, in which
// everything else goes on. Without it, an operator whose view is old, and another controller that undoes what it does, would go on
// for ever in the instant before the operator lists again:
//
//	the operator, to which a deleted shop exists        creates its till
//	the garbage collector                               deletes the till, whose owner is gone
//	the operator, whose informer waits to list again    creates its till
func (c *course) slow(ctx context.Context) error {
	now := c.cluster.Clock().Now()
	c.mu.Lock()
	if now.Sub(c.burst) > time.Second {
		c.burst, c.inBurst = now, 0
	}
	c.inBurst++
	many := c.inBurst > maxBurst
	c.mu.Unlock()
	if !many || !inflight.MayPause(ctx) {
		return nil
	}
	return inflight.Sleep(ctx, c.cluster.Clock(), writeTime)
}

func (c *connection) refuse(req *http.Request, index int, err *apierrors.StatusError) *http.Response {
	c.life.course.answered(index, int(err.ErrStatus.Code))
	return statusResponse(req, err)
}

// discard reads an answer that the client does not get.
func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

// meets notes a write, begins the disturbances that are planned for it, and returns the one that concerns its answer, and the acts of users
// that follow it.
func (l *life) meets(at Point) (index int, action Action, acts []Disturbance) {
	c := l.course
	c.mu.Lock()
	defer c.mu.Unlock()
	if name, ok := c.generated[at.Name]; ok {
		at.Name = name
	}
	c.met[at]++ // at has no number yet
	at.Nth = c.met[at]
	index = len(c.calls)
	c.calls = append(c.calls, Call{After: c.cluster.Clock().Since(c.begin), Point: at, Before: c.newest})
	rest := c.planned[:0]
	for _, d := range c.planned {
		if d.At != at || action != "" && !d.holds() && !d.isAct() {
			rest = append(rest, d)
			continue
		}
		c.calls[index].What = d.String()
		switch {
		case d.isAct():
			acts = append(acts, d)
			continue
		case d.Action == RepeatedEvents:
			l.repeatLaterLocked(d.Resource)
			continue
		case d.holds():
			l.holdLocked(d.Resource, d.Action == MissedEvents)
			continue
		case d.Action.lasts():
			c.refuseLocked(d.Action, &at)
		case d.Action == StaleRestart:
			if revision, ok := c.beforeLocked(d.Since); ok {
				l.leaves[d.Resource] = revision
			}
		}
		action = d.Action
	}
	c.planned = rest
	if lasting := c.lastingLocked(&at); lasting != "" && action == "" {
		action = lasting
	}
	return index, action, acts
}

// isAct reports whether the disturbance is an act of a user, or of a node: it is not done to the operator's requests.
func (d *Disturbance) isAct() bool {
	return d.Action == Edit || d.Action == Recreate || d.Action == DeletePods || d.Action == NodeLost
}

// holds reports whether the disturbance holds back events.
func (d *Disturbance) holds() bool {
	return d.Action == LateEvents || d.Action == MissedEvents || d.Action == RepeatedEvents
}

// beforeLocked returns the newest revision before a write of this course.
func (c *course) beforeLocked(p Point) (revision int64, ok bool) {
	for _, call := range c.calls {
		if call.Point == p {
			return call.Before, true
		}
	}
	return 0, false
}

// holdLocked holds back the events of a resource from now on.
func (l *life) holdLocked(resource string, expired bool) {
	l.holding[resource] = true
	for _, s := range l.streams[resource] {
		s.hold()
	}
	l.course.releaseLaterLocked(l, resource, expired)
}

// repeatLaterLocked lets the watches of a resource expire a second from now.
func (l *life) repeatLaterLocked(resource string) {
	c := l.course
	c.cluster.Clock().AfterFunc(time.Second, func() {
		c.mu.Lock()
		streams := slices.Clone(l.streams[resource])
		c.mu.Unlock()
		for _, s := range streams {
			if s.expire() {
				c.mu.Lock()
				l.expired[resource] = true
				c.mu.Unlock()
			}
		}
	})
}

// crash ends the life: no request of it reaches the API server any more.
func (l *life) crash() {
	l.course.mu.Lock()
	l.crashed = true
	l.course.mu.Unlock()
	l.course.awake()
}

func (c *course) answered(index, code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[index].Code = code
}

func (c *course) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = err
	}
}
