package hunt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/inflight"
)

const (
	// slowTime is how long an answer takes that is slow.
	slowTime = 10 * time.Second
	// arrivalDelay is how long after the operator's end its last write arrives: its next life works already.
	arrivalDelay = 2 * restartDelay
)

var (
	errDenied      = errors.New(`admission webhook "hunt.minikcm.dev" denied the request: a disturbance of the hunt`)
	errUnreachable = errors.New(`failed calling webhook "hunt.minikcm.dev": failed to call webhook: Post "https://hunt.default.svc:443/?timeout=10s": dial tcp 10.96.0.99:443: connect: connection refused`)
	errQuota       = errors.New("exceeded quota: hunt, requested: count=1, used: count=9, limited: count=9")
)

// refusal returns the error with which a disturbance answers a request in place of the API server; nil if it lets the request pass.
func refusal(action Action, a *asked, at *Point) *apierrors.StatusError {
	resource := schema.GroupResource{Group: a.APIGroup, Resource: a.RequestInfo.Resource}
	switch action {
	case Conflict:
		return apierrors.NewConflict(resource, at.Name, errModified)
	case ServerError:
		return apierrors.NewInternalError(errDisturbed)
	case TooManyRequests:
		return apierrors.NewTooManyRequestsError("too many requests, please try again later")
	case WebhookDenial:
		return apierrors.NewForbidden(resource, at.Name, errDenied)
	case WebhookOutage:
		return apierrors.NewInternalError(errUnreachable)
	case QuotaExceeded:
		return apierrors.NewForbidden(resource, at.Name, errQuota)
	}
	return nil
}

// lasts reports whether the disturbance refuses the writes that follow, too.
func (a Action) lasts() bool { return a == WebhookOutage || a == QuotaExceeded }

// refusals are the lasting refusals of a course, by what they refuse.
type refusals map[refused]Action

// refused are the writes of one verb to a resource, in one namespace if that is not empty.
type refused struct{ verb, resource, namespace string }

// refusedBy returns what a lasting refusal refuses. A quota is one of the namespace, and a webhook is called for creates and changes.
func refusedBy(action Action, at *Point) []refused {
	if action == QuotaExceeded {
		return []refused{{"create", at.Resource, at.Namespace}}
	}
	return []refused{{"create", at.Resource, ""}, {"update", at.Resource, ""}, {"patch", at.Resource, ""}}
}

// refuseLocked lets a lasting refusal begin.
func (c *course) refuseLocked(action Action, at *Point) {
	all := refusedBy(action, at)
	for _, r := range all {
		c.refusals[r] = action
	}
	c.undoing++
	c.cluster.Clock().AfterFunc(holdTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range all {
			delete(c.refusals, r)
		}
		c.undoing--
	})
}

// lastingLocked returns the lasting refusal of a write; empty if there is none.
func (c *course) lastingLocked(at *Point) Action {
	for _, namespace := range []string{at.Namespace, ""} {
		if action, ok := c.refusals[refused{at.Verb, at.Resource, namespace}]; ok {
			return action
		}
	}
	return ""
}

// slowly lets time pass before the answer to a write. It reports whether it could: an operator that is not made for virtual time does not
// let time pass in its requests.
func (c *course) slowly(ctx context.Context) (passed bool) {
	if inflight.MayPause(ctx) {
		return inflight.Sleep(ctx, c.cluster.Clock(), slowTime) == nil
	}
	if !c.outside {
		return false
	}
	due := make(chan struct{})
	defer c.cluster.Clock().AfterFunc(slowTime, func() { close(due) }).Stop()
	select {
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

// unmet says that a disturbance had no effect.
func (c *course) unmet(index int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.planned = append(c.planned, Disturbance{Action: SlowAnswer, At: c.calls[index].Point})
}

// arrives lets a write of an ended life arrive later.
func (c *connection) arrives(req *http.Request, index int) error {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return err
		}
		_ = req.Body.Close()
	}
	late := req.Clone(context.WithoutCancel(req.Context()))
	course := c.life.course
	course.mu.Lock()
	course.undoing++
	course.mu.Unlock()
	course.cluster.Clock().AfterFunc(arrivalDelay, func() {
		course.later(func(ctx context.Context) {
			late.Body = io.NopCloser(bytes.NewReader(body))
			resp, err := c.next.RoundTrip(late.WithContext(ctx))
			code := 0
			if err == nil {
				code = resp.StatusCode
				discard(resp)
			}
			course.mu.Lock()
			defer course.mu.Unlock()
			course.undoing--
			course.calls[index].Code = code
			course.calls = append(course.calls, Call{After: course.cluster.Clock().Since(course.begin), What: fmt.Sprintf("%s arrives: %d", course.calls[index].Point, code)})
		})
	})
	return nil
}
