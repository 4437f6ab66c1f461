package determinism

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/kubeletsim"
)

// Heartbeats that nothing observes are written late or never. A client that watches them sees all; without
// it, every read and every other write has to be the same.
func TestUnobservedHeartbeats(t *testing.T) {
	t.Parallel()
	courses := map[string]func(r *readings) step{
		"idle": func(r *readings) step {
			return steps(pass(time.Hour), r.read("leases"), pass(7*time.Second), r.read("leases", "nodes"), pass(11*time.Minute), r.read("nodes"))
		},
		"lost": func(r *readings) step {
			return steps(
				deployment("web", 6), pass(20*time.Minute+3*time.Second), node("node-0", (*kubeletsim.Kubelets).StopNode), pass(13*time.Second), r.read("leases"),
				pass(10*time.Minute), r.read("leases", "nodes"), node("node-0", (*kubeletsim.Kubelets).StartNode), pass(25*time.Minute),
				r.read("nodes", "leases"), node("node-1", (*kubeletsim.Kubelets).CrashNode), pass(3*time.Minute), r.read("nodes"),
			)
		},
		"read and lost": func(r *readings) step {
			return steps(
				deployment("web", 6), pass(10*time.Minute), r.read("leases"), pass(2*time.Second), node("node-2", (*kubeletsim.Kubelets).StopNode),
				pass(10*time.Minute), r.read("leases", "nodes"),
			)
		},
		"skewed": func(r *readings) step {
			skew := func(by time.Duration) step {
				return node("node-1", func(k *kubeletsim.Kubelets, name string) error { return k.SkewNode(name, by) })
			}
			return steps(pass(31*time.Minute), skew(-2*time.Minute), pass(3*time.Second), r.read("leases"), pass(20*time.Minute), r.read("leases", "nodes"), skew(0), pass(time.Minute), r.read("leases"))
		},
		"changed": func(r *readings) step {
			return steps(
				pass(13*time.Minute+2*time.Second), patch("nodes", "node-1", "status", `{"status":{"conditions":[]}}`), pass(3*time.Second), r.read("nodes"),
				pass(10*time.Second), r.read("nodes"), cronJob("tick", "*/5 * * * *"), pass(17*time.Minute), r.read("nodes", "leases"),
				remove("leases", "node-1"), pass(time.Second), pass(20*time.Second), r.read("leases"), pass(time.Hour), deleteNode("node-2"), pass(time.Minute), r.read("leases", "nodes"),
			)
		},
		"faulty": func(r *readings) step {
			return steps(
				pass(14*time.Minute+time.Second), suffer(minikcm.APIFault{Match: minikcm.APIFaultMatch{Resources: []string{"leases"}}, Code: 500}, 3*time.Minute),
				r.read("leases", "nodes"), pass(30*time.Minute), r.read("leases", "nodes"),
			)
		},
	}
	for name, course := range courses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written, all := readingsOf(t, course, true)
			late, some := readingsOf(t, course, false)
			if diff := cmp.Diff(written.all, late.all); diff != "" {
				t.Error("what clients read (-written, +unobserved):\n", diff)
			}
			if at := firstDifference(others(all), others(some)); at >= 0 {
				t.Error("other writes (-written, +unobserved):\n", cmp.Diff(around(others(all), at), around(others(some), at)))
			}
			if len(some) > len(all)*2/3 {
				t.Errorf("%d writes, and %d when they are observed", len(some), len(all))
			}
		})
	}
}

// readings are what a client has read, without resource versions.
type readings struct{ all []string }

func (r *readings) read(resources ...string) step {
	return func(ctx context.Context, d *driver) error {
		for _, resource := range resources {
			for _, version := range []string{"", "0"} {
				list, err := listOf(ctx, d.client, resource, metav1.ListOptions{ResourceVersion: version})
				if err != nil {
					return err
				}
				r.all = append(r.all, strings.Split(list, "\n")...)
			}
		}
		return nil
	}
}

func listOf(ctx context.Context, client kubernetes.Interface, resource string, opts metav1.ListOptions) (string, error) {
	var list runtime.Object
	var err error
	if resource == "nodes" {
		list, err = client.CoreV1().Nodes().List(ctx, opts)
	} else {
		list, err = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, opts)
	}
	if err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(list, "", " ")
	lines := slices.DeleteFunc(strings.Split(string(data), "\n"), func(l string) bool { return strings.Contains(l, `"resourceVersion"`) })
	return strings.Join(lines, "\n"), err
}

func steps(all ...step) step {
	return func(ctx context.Context, d *driver) error { return inOrder(ctx, d, all...) }
}

func patch(resource, name, sub, data string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(data), metav1.PatchOptions{}, sub)
		return err
	}
}

func remove(resource, name string) step {
	return func(ctx context.Context, d *driver) error {
		return d.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// readingsOf runs a course, with a client that watches all heartbeats or without, and returns what was read
// and written.
func readingsOf(t *testing.T, course func(*readings) step, observed bool) (*readings, []string) {
	t.Helper()
	r := &readings{}
	writes := writesOf(t, 7, func(ctx context.Context, d *driver) error {
		if observed {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			leases, err := d.client.CoordinationV1().Leases("").Watch(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			nodes, err := d.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			ended := make(chan struct{})
			for _, w := range []watch.Interface{leases, nodes} {
				go func() {
					for range w.ResultChan() {
					}
					ended <- struct{}{}
				}()
			}
			defer func() { leases.Stop(); nodes.Stop(); <-ended; <-ended }()
		}
		return course(r)(ctx, d)
	})
	return r, writes
}

// others returns the writes that are no heartbeats, without their revisions and causes.
func others(writes []string) []string {
	var all []string
	for _, w := range writes {
		fields := strings.Fields(w)
		if strings.HasPrefix(fields[2], "system:node:") && (fields[5] == "leases" || fields[5] == "nodes/status") {
			continue
		}
		from, to := strings.Index(w, " causes "), strings.Index(w, " changes ")
		all = append(all, w[len(fields[0])+1:from]+w[to:])
	}
	// The order within an instant depends on the turns before.
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && strings.Fields(all[to])[0] == strings.Fields(all[from])[0] {
			to++
		}
		slices.Sort(all[from:to])
		from = to
	}
	return all
}
