package ctrltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/clock"
)

// machineTime looks for conditions whose times a request has set from the machine's clock, such as
// meta.SetStatusCondition does for a condition without a time, on a cluster whose time is another.
type machineTime struct {
	clock clock.Clock
	// begin is the cluster's time when the manager was created. apart means that the machine's time
	// was far from it.
	begin time.Time
	apart bool

	mu sync.Mutex
	// report is nil once the test has ended.
	report   func(format string, args ...any)
	reported map[string]bool
}

// newMachineTime returns a machineTime that reports to the test, as a failure if fail is set.
func newMachineTime(t testing.TB, c clock.Clock, fail bool) *machineTime {
	m := &machineTime{clock: c, begin: c.Now(), report: t.Logf, reported: map[string]bool{}}
	m.apart = clock.Real().Now().Sub(m.begin).Abs() > time.Hour
	if fail {
		m.report = t.Errorf
	}
	t.Cleanup(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.report = nil
	})
	return m
}

// wrap returns a RoundTripper whose writes are looked at.
func (m *machineTime) wrap(next http.RoundTripper) http.RoundTripper { return timeReader{m, next} }

type timeReader struct {
	*machineTime
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (r timeReader) WrappedRoundTripper() http.RoundTripper { return r.next }

func (r timeReader) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil || resp.StatusCode > http.StatusCreated || !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, req.Method) {
		return resp, err
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it is in memory
	if err != nil {
		return nil, fmt.Errorf("reading the response to %s %s: %w", req.Method, req.URL.Path, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	for _, found := range conditionTimes(resp.Header.Get("Content-Type"), data) {
		r.look(found)
	}
	return resp, nil
}

// conditionTime is a time in a condition of an object.
type conditionTime struct {
	object, field string
	at            time.Time
}

// conditionTimes returns the times in the conditions of an encoded object.
func conditionTimes(contentType string, data []byte) []conditionTime {
	media, _, _ := mime.ParseMediaType(contentType) // empty after an error
	object := map[string]any{}
	switch {
	case media == runtime.ContentTypeJSON && bytes.Contains(data, []byte(`"conditions"`)):
		if json.Unmarshal(data, &object) != nil {
			return nil
		}
	case media == runtime.ContentTypeProtobuf:
		typed, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			return nil
		}
		if object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
			return nil
		}
	default:
		return nil
	}
	name := fmt.Sprint(object["kind"])
	if metadata, ok := object["metadata"].(map[string]any); ok {
		name += " " + strings.TrimPrefix(fmt.Sprintf("%v/%v", metadata["namespace"], metadata["name"]), "<nil>/")
	}
	var all []conditionTime
	walkConditions("", object, func(path string, condition map[string]any) {
		for key, value := range condition {
			text, _ := value.(string)
			if at, err := time.Parse(time.RFC3339, text); err == nil && strings.HasSuffix(key, "Time") {
				all = append(all, conditionTime{name, fmt.Sprintf("%s[type=%v].%s", path, condition["type"], key), at})
			}
		}
	})
	slices.SortFunc(all, func(a, b conditionTime) int { return strings.Compare(a.field, b.field) })
	return all
}

// walkConditions calls found for the elements of lists named conditions.
func walkConditions(path string, value any, found func(path string, condition map[string]any)) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	for key, inner := range object {
		at := strings.TrimPrefix(path+"."+key, ".")
		list, _ := inner.([]any)
		for _, element := range list {
			if condition, ok := element.(map[string]any); ok && key == "conditions" {
				found(at, condition)
			} else {
				walkConditions(at+"[]", element, found)
			}
		}
		walkConditions(at, inner, found)
	}
}

// tolerance is the time that may pass between reading a clock and the end of the request that
// writes it, and the precision of the API's times.
const tolerance = 2 * time.Second

// isForeign reports whether a time cannot be one of the cluster's clock: it is later than now; or it
// is the machine's present time and either before the manager was created or, if the clocks began
// far apart, not the cluster's present time.
func (m *machineTime) isForeign(at, machine time.Time) bool {
	now := m.clock.Now()
	present := machine.Sub(at).Abs() < time.Minute
	return at.After(now.Add(tolerance)) || present && at.Before(m.begin.Add(-tolerance)) || present && m.apart && now.Sub(at) > time.Minute
}

func (m *machineTime) look(found conditionTime) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := found.object + " " + found.field
	if m.report == nil || m.reported[key] || !m.isForeign(found.at, clock.Real().Now()) {
		return
	}
	m.reported[key] = true
	m.report("%s of %s is %s, which is not the cluster's time (%s).\nIt was written by %s.\nSet it from the cluster's clock: LastTransitionTime: metav1.NewTime(clock.Now()); see \"Times in conditions\" in docs/operators.md",
		found.field, found.object, found.at.Format(time.RFC3339), m.clock.Now().UTC().Format(time.RFC3339), caller())
}

// libraries are the prefixes of functions between an operator's call and the transport.
var libraries = []string{
	"runtime.", "net/http.", "k8s.io/client-go/", "k8s.io/apimachinery/", "sigs.k8s.io/controller-runtime/",
	"minikcm.dev/minikcm/minikcmtest/ctrltest.", "minikcm.dev/minikcm/clock/", "minikcm.dev/minikcm/internal/",
}

// caller returns the function and the line that made the request.
func caller() string {
	const depth = 64
	programs := make([]uintptr, depth)
	frames := goruntime.CallersFrames(programs[:goruntime.Callers(1, programs)])
	for {
		frame, more := frames.Next()
		if !slices.ContainsFunc(libraries, func(prefix string) bool { return strings.HasPrefix(frame.Function, prefix) }) && frame.Function != "" {
			return fmt.Sprintf("%s (%s:%d)", frame.Function, filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return "a goroutine of a library"
		}
	}
}
