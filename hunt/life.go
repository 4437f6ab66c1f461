package hunt

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	// restartDelay is how long the operator is away after a crash, in the cluster's time: the first back-off of a kubelet.
	restartDelay = 10 * time.Second
	// holdTime is how long events are held back.
	holdTime = 30 * time.Second
)

// Call is a write of the operator in a run, or what happened to the operator beside its writes.
type Call struct {
	// After is the time since the operator's first start.
	After time.Duration
	Point Point
	// What names the disturbance, or a restart; empty for an undisturbed write.
	What string
	// Code is the HTTP status of the API server's answer; 0 if the request did not reach it.
	Code int
	// Before is the newest revision before the write.
	Before int64
}

// String returns a line of a timeline.
func (c Call) String() string {
	text := fmt.Sprintf("+%.3fs  ", c.After.Seconds())
	switch {
	case c.Point == (Point{}):
		return text + c.What
	case c.What != "":
		return text + c.Point.String() + "  <- " + c.What
	case c.Code >= http.StatusBadRequest:
		return text + fmt.Sprintf("%s: %d", c.Point, c.Code)
	}
	return text + c.Point.String()
}

// course records the acts of the operator in one run, and disturbs them. Its methods are safe for concurrent use.
type course struct {
	cluster *minikcm.Cluster
	ledger  *clock.Ledger
	wake    func() // makes the driver look at crashed

	mu      sync.Mutex
	begin   time.Time
	planned []Disturbance
	life    *life
	met     map[Point]int
	calls   []Call
	watched map[string]bool
	newest  int64 // revision of the cluster
	// operator is the operator's user.
	operator string
	subjects map[string]*subject
	// due are acts that have to be done when nothing is in flight, recreating those that become due when an object is gone, and undoing
	// counts the acts that are not over.
	due        []func(context.Context)
	recreating map[string]func(context.Context)
	undoing    int
	refusals   refusals
	// reconciles has the last end of each request, and panics the first panic of each.
	reconciles, panics map[request]end
	// outside says that the operator is a program, whose requests may take any time.
	outside bool
	// resources are those that were written, except notState.
	resources map[schema.GroupVersionResource]bool
	// touched are those that were written since the course began, and writers the cluster's controllers that wrote at any time.
	touched map[schema.GroupVersionResource]bool
	writers map[string]bool
	// generated has, for names that the server has generated, what they are in all runs.
	generated map[string]string
	failure   error // of a request that could not be read
	// inBurst counts the writes since burst, within a second.
	burst   time.Time
	inBurst int
}

// life is the operator from a start until it ends.
type life struct {
	course *course
	// The rest is guarded by course.mu.
	crashed bool
	streams map[string][]*stream
	// holding are the resources whose events are held back, also of watches that begin later.
	holding map[string]bool
	// expired are the resources whose next watch has to begin with a list.
	expired map[string]bool
	// stale has, for each resource that is listed as of the past, the revision; leaves has the same for the next life.
	stale, leaves map[string]int64
}

func newCourse(cluster *minikcm.Cluster, operator string, planned []Disturbance) *course {
	c := &course{
		cluster: cluster, ledger: cluster.Ledger(), begin: cluster.Clock().Now(), planned: slices.Clone(planned),
		met: map[Point]int{}, watched: map[string]bool{}, generated: map[string]string{}, operator: operator, subjects: map[string]*subject{}, recreating: map[string]func(context.Context){}, resources: map[schema.GroupVersionResource]bool{}, touched: map[schema.GroupVersionResource]bool{}, writers: map[string]bool{}, refusals: refusals{}, reconciles: map[request]end{}, panics: map[request]end{}, wake: func() {},
	}
	cluster.Writes().ObserveObjects(func(w *minikcm.Write, _, object runtime.Object) {
		c.mu.Lock()
		c.wroteLocked(w)
		c.touched[schema.GroupVersionResource(w.Resource)] = true
		if m, err := meta.Accessor(object); err == nil {
			if same, ok := chosen(m.GetName(), m.GetGenerateName()); ok {
				c.generated[m.GetName()] = same
			}
		}
		due := c.noteLocked(w, object)
		c.mu.Unlock()
		if due {
			c.awake()
		}
	})
	written := cluster.Writes().Writes(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range written {
		c.wroteLocked(&written[i])
	}
	return c
}

func (c *course) wroteLocked(w *minikcm.Write) {
	c.newest = max(c.newest, w.Revision)
	if name, ok := strings.CutPrefix(w.UserAgent, "minikcm/"); ok {
		c.writers[name] = true
	}
	if !slices.Contains(notState, w.Resource.Resource) {
		c.resources[schema.GroupVersionResource(w.Resource)] = true
	}
}

// begins starts the next life. It lists the resources in stale as of an older revision.
func (c *course) begins() *life {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := &life{course: c, streams: map[string][]*stream{}, holding: map[string]bool{}, expired: map[string]bool{}, stale: map[string]int64{}, leaves: map[string]int64{}}
	if c.life != nil {
		next.stale = c.life.leaves
		for resource := range next.stale {
			next.holding[resource] = true
			c.releaseLaterLocked(next, resource, false)
		}
		c.calls = append(c.calls, Call{After: c.cluster.Clock().Since(c.begin), What: "the operator starts again"})
	}
	c.life = next
	return next
}

// hasCrashed reports whether the operator has to be stopped and started again.
func (c *course) hasCrashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life.crashed
}

func (l *life) isOver() bool {
	l.course.mu.Lock()
	defer l.course.mu.Unlock()
	return l.crashed || l.course.life != l
}

// releaseLaterLocked releases the events of a resource after holdTime.
func (c *course) releaseLaterLocked(l *life, resource string, expired bool) {
	c.cluster.Clock().AfterFunc(holdTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(l.holding, resource)
		for _, s := range l.streams[resource] {
			if s.release(expired) {
				l.expired[resource] = expired
			}
		}
	})
}

// connection is the way of a client's requests in one life.
type connection struct {
	life *life
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (c *connection) WrappedRoundTripper() http.RoundTripper { return c.next }

// errNoStreams makes client-go list instead.
var errNoStreams = apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", field.ErrorList{
	field.Forbidden(field.NewPath("sendInitialEvents"), "lists are not streamed"),
})

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// RoundTrip passes a request on, or disturbs it.
func (c *connection) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.life.isOver() {
		return nil, errRefused
	}
	a, ok := readRequest(req)
	switch {
	case !ok:
	case a.Verb == "watch":
		return c.watch(req, &a)
	case a.Verb == "list":
		c.asOf(req, &a)
	case a.isPoint(req):
		return c.write(req, &a)
	}
	return c.next.RoundTrip(req)
}

// asOf makes the list of an informer one of an older revision.
func (c *connection) asOf(req *http.Request, a *asked) {
	c.life.course.mu.Lock()
	revision := c.life.stale[a.collection]
	c.life.course.mu.Unlock()
	query := req.URL.Query()
	if revision == 0 || query.Get("resourceVersion") != "0" { // other lists are consistent reads
		return
	}
	query.Set("resourceVersion", fmt.Sprint(revision))
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	query.Del("limit")
	req.URL.RawQuery = query.Encode()
}

// watch passes a watch on, whose events may be held back.
func (c *connection) watch(req *http.Request, a *asked) (*http.Response, error) {
	l, course := c.life, c.life.course
	lists := req.URL.Query().Get("sendInitialEvents") == "true"
	course.mu.Lock()
	course.watched[a.collection] = true
	behind, expired := l.stale[a.collection] != 0 || l.holding[a.collection], l.expired[a.collection]
	if lists {
		delete(l.expired, a.collection)
	}
	course.mu.Unlock()
	switch {
	case behind && lists: // only a plain list can be one of an older revision, and only events are held back
		return statusResponse(req, errNoStreams), nil
	case expired && !lists:
		course.mu.Lock()
		delete(l.expired, a.collection)
		course.mu.Unlock()
		return statusResponse(req, apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")), nil
	}
	resp, err := c.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	course.mu.Lock()
	defer course.mu.Unlock()
	s := newStream(resp.Body, course.ledger, l.holding[a.collection])
	l.streams[a.collection] = append(l.streams[a.collection], s)
	resp.Body = s
	return resp, nil
}
