package minikcmtest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/golden"
)

// failing is a test that fails, with its log.
type failing struct {
	testing.TB
	failed   bool
	cleanups []func()
	logged   strings.Builder
}

func (f *failing) Failed() bool                        { return f.failed }
func (f *failing) Cleanup(cleanup func())              { f.cleanups = append(f.cleanups, cleanup) }
func (f *failing) Logf(format string, values ...any)   { fmt.Fprintf(&f.logged, format+"\n", values...) }
func (f *failing) Fatalf(format string, values ...any) { f.Logf(format, values...) }

func (f *failing) end() string {
	for _, cleanup := range f.cleanups {
		cleanup()
	}
	return f.logged.String()
}

// A test that fails reports on the objects that it names, and one that passes does not.
func TestReportOnFailure(t *testing.T) {
	t.Parallel()
	c := New(t, WithVirtualTime(), WithNodes(0))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}}
	if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Settle()
	test := func(failed bool, objects ...string) string {
		f := &failing{TB: t, failed: failed}
		(&Cluster{Cluster: c.Cluster, t: f}).ReportOnFailure(objects...)
		return f.end()
	}
	logged := test(true, "Pod/default/web", "configmaps/default/none", "Namespace/default")
	golden.Compare(t, "testdata/report.txt", regexp.MustCompile(`\b\d{3}\b`).ReplaceAllString(logged, "NNN")) // the revisions
	if logged := test(false, "Pod/default/web"); logged != "" {
		t.Errorf("a test that passes logs %s", logged)
	}
	for _, object := range []string{"web", "Pod//web", "a/b/c/d"} {
		if logged := test(false, object); !strings.Contains(logged, "write KIND/NAMESPACE/NAME") {
			t.Errorf("%q is answered with %s", object, logged)
		}
	}
}
