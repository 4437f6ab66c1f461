package determinism

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// object is the content of an object without a Go type.
type object = map[string]any

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// custom returns the resource of a custom kind in the group.
func custom(group, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

// in returns the objects of a resource in a namespace; empty: cluster-scoped.
func (d *driver) in(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(d.cluster.Config()).Resource(gvr).Namespace(namespace)
}

// define creates the definition of a namespaced kind with scale and status.
func define(group, plural, kind string, also ...string) step {
	return func(ctx context.Context, d *driver) error {
		versions := []any{}
		for i, version := range append([]string{"v1"}, also...) {
			versions = append(versions, object{
				"name": version, "served": true, "storage": i == 0,
				"schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				"subresources": object{
					"status": object{}, "scale": object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"},
				},
			})
		}
		_, err := d.in(definitions, "").Create(ctx, &unstructured.Unstructured{Object: object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": plural + "." + group},
			"spec": object{"group": group, "scope": "Namespaced", "names": object{"plural": plural, "kind": kind}, "versions": versions},
		}}, metav1.CreateOptions{})
		return err
	}
}

func undefine(group, plural string) step {
	return func(ctx context.Context, d *driver) error {
		return d.in(definitions, "").Delete(ctx, plural+"."+group, metav1.DeleteOptions{})
	}
}

// redefine changes a definition by a merge patch.
func redefine(group, plural, patch string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.in(definitions, "").Patch(ctx, plural+"."+group, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// make creates an object of a custom kind, with fields of its metadata.
func makeCustom(gvr schema.GroupVersionResource, kind, namespace, name string, metadata object) step {
	return func(ctx context.Context, d *driver) error {
		all := object{"name": name}
		for key, value := range metadata {
			all[key] = value
		}
		_, err := d.in(gvr, namespace).Create(ctx, &unstructured.Unstructured{Object: object{
			"apiVersion": gvr.GroupVersion().String(), "kind": kind, "metadata": all, "spec": object{"replicas": int64(1)},
		}}, metav1.CreateOptions{})
		return err
	}
}

func removeCustom(gvr schema.GroupVersionResource, namespace, name string) step {
	return func(ctx context.Context, d *driver) error {
		return d.in(gvr, namespace).Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// releaseCustom removes the finalizers of an object.
func releaseCustom(gvr schema.GroupVersionResource, namespace, name string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.in(gvr, namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err
	}
}

// own creates a ConfigMap that an object owns.
func own(name string, gvr schema.GroupVersionResource, kind, owner string) step {
	return func(ctx context.Context, d *driver) error {
		found, err := d.in(gvr, "default").Get(ctx, owner, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = d.client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: gvr.GroupVersion().String(), Kind: kind, Name: owner, UID: found.GetUID()}},
		}}, metav1.CreateOptions{})
		return err
	}
}

func namespace(name string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
}

func removeNamespace(name string) step {
	return func(ctx context.Context, d *driver) error {
		return d.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// gone fails unless the object does not exist any more.
func gone(get func(ctx context.Context, d *driver) error) step {
	return func(ctx context.Context, d *driver) error {
		if err := get(ctx, d); !apierrors.IsNotFound(err) {
			return fmt.Errorf("an object is left: %w", errors.Join(err, errLeft))
		}
		return nil
	}
}

var errLeft = errors.New("not collected without a delay")

func configMap(name string) func(context.Context, *driver) error {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
		return err
	}
}

var sites, pages = custom("web.example.org", "sites"), custom("doc.example.org", "pages")

// definitionCourses begin with a definition. Each is a list of steps of clients, with or without time
// for the cluster in between, and steps after the cluster has settled.
var definitionCourses = map[string]struct{ acts, after []step }{
	"owner": {
		acts: []step{
			define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "default", "a", nil), own("owned", sites, "Site", "a"),
			removeCustom(sites, "default", "a"),
		},
		after: []step{gone(configMap("owned"))},
	},
	"two groups": {
		acts: []step{
			define("web.example.org", "sites", "Site", "v2", "v1beta1"), define("doc.example.org", "pages", "Page"),
			makeCustom(sites, "Site", "default", "a", nil), makeCustom(pages, "Page", "default", "b", nil),
			own("of-site", sites, "Site", "a"), own("of-page", pages, "Page", "b"), removeCustom(pages, "default", "b"), removeCustom(sites, "default", "a"),
		},
		after: []step{gone(configMap("of-site")), gone(configMap("of-page"))},
	},
	"again": {
		acts: []step{
			define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "default", "a", nil), undefine("web.example.org", "sites"), pass(0),
			define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "default", "a", nil), own("owned", sites, "Site", "a"), removeCustom(sites, "default", "a"),
		},
		after: []step{gone(configMap("owned")), undefine("web.example.org", "sites"), pass(0)},
	},
	"changed": {
		acts: []step{
			define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "default", "a", nil), own("owned", sites, "Site", "a"), pass(time.Second),
			redefine("web.example.org", "sites", `{"spec":{"names":{"shortNames":["st"]}}}`), makeCustom(sites, "Site", "default", "b", nil),
			removeCustom(sites, "default", "a"),
		},
		after: []step{pass(time.Minute), gone(configMap("owned"))},
	},
	"finalizer": {
		acts: []step{
			define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "default", "a", object{"finalizers": []any{"example.org/hold"}}),
			makeCustom(sites, "Site", "default", "b", nil), undefine("web.example.org", "sites"), pass(time.Second),
			releaseCustom(sites, "default", "a"),
		},
		after: []step{gone(func(ctx context.Context, d *driver) error {
			_, err := d.in(definitions, "").Get(ctx, "sites.web.example.org", metav1.GetOptions{})
			return err
		})},
	},
	"namespace": {
		acts: []step{
			namespace("short"), pass(0), define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "short", "a", nil), makeCustom(sites, "Site", "short", "b", nil),
			removeNamespace("short"),
		},
		after: []step{gone(func(ctx context.Context, d *driver) error {
			_, err := d.client.CoreV1().Namespaces().Get(ctx, "short", metav1.GetOptions{})
			return err
		})},
	},
	"names": {
		acts: []step{
			define("web.example.org", "sites", "Site"), define("web.example.org", "places", "Site"), define("web.example.org", "spots", "Site"),
			undefine("web.example.org", "sites"),
		},
		after: []step{pass(time.Minute)},
	},
	"quota": {
		acts: []step{
			func(ctx context.Context, d *driver) error {
				_, err := d.client.CoreV1().ResourceQuotas("default").Create(ctx, &corev1.ResourceQuota{
					ObjectMeta: metav1.ObjectMeta{Name: "few"},
					Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/sites.web.example.org": resource.MustParse("3")}},
				}, metav1.CreateOptions{})
				return err
			}, define("web.example.org", "sites", "Site"), pass(10 * time.Minute),
			makeCustom(sites, "Site", "default", "a", nil), makeCustom(sites, "Site", "default", "b", nil), removeCustom(sites, "default", "a"),
		},
		after: []step{pass(time.Minute)},
	},
	"autoscaler": {
		acts: []step{
			define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "default", "a", nil),
			func(ctx context.Context, d *driver) error {
				_, err := d.client.AutoscalingV2().HorizontalPodAutoscalers("default").Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
					ObjectMeta: metav1.ObjectMeta{Name: "a"},
					Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
						ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "web.example.org/v1", Kind: "Site", Name: "a"}, MaxReplicas: 3,
					},
				}, metav1.CreateOptions{})
				return err
			},
		},
		after: []step{pass(time.Minute)},
	},
	"migration": {
		acts: []step{
			define("web.example.org", "sites", "Site", "v2"), makeCustom(sites, "Site", "default", "a", nil), makeCustom(sites, "Site", "default", "b", nil),
			redefine("web.example.org", "sites", `{"spec":{"versions":[`+servedVersion("v1", false)+`,`+servedVersion("v2", true)+`]}}`),
			func(ctx context.Context, d *driver) error {
				_, err := d.client.StoragemigrationV1().StorageVersionMigrations().Create(ctx, &storagemigrationv1.StorageVersionMigration{
					ObjectMeta: metav1.ObjectMeta{Name: "m"},
					Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: "web.example.org", Resource: "sites"}},
				}, metav1.CreateOptions{})
				return err
			},
		},
		after: []step{pass(time.Minute)},
	},
	"priority level": { // not a definition, but what the API server writes after it is of the same kind
		acts: []step{
			func(ctx context.Context, d *driver) error {
				_, err := d.client.FlowcontrolV1().FlowSchemas().Create(ctx, &flowcontrolv1.FlowSchema{
					ObjectMeta: metav1.ObjectMeta{Name: "mine"},
					Spec:       flowcontrolv1.FlowSchemaSpec{PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "mine"}},
				}, metav1.CreateOptions{})
				return err
			},
			func(ctx context.Context, d *driver) error {
				_, err := d.client.FlowcontrolV1().PriorityLevelConfigurations().Create(ctx, &flowcontrolv1.PriorityLevelConfiguration{
					ObjectMeta: metav1.ObjectMeta{Name: "mine"},
					Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
						Type:    flowcontrolv1.PriorityLevelEnablementLimited,
						Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}},
					},
				}, metav1.CreateOptions{})
				return err
			},
			define("web.example.org", "sites", "Site"), makeCustom(sites, "Site", "default", "a", nil),
		},
	},
}

func servedVersion(name string, storage bool) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, name, storage)
}

// busyMachine keeps all processors busy until the returned function is called.
func busyMachine(threads int) (end func()) {
	var over atomic.Bool
	var running sync.WaitGroup
	for range threads {
		running.Go(func() {
			for n := 0; !over.Load(); n++ {
				if n%(1<<16) == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	return func() {
		over.Store(true)
		running.Wait()
	}
}

// machines are the conditions under which runs of one seed are compared.
var machines = []struct{ procs, load int }{{2, 0}, {1, 2}, {4, 8}, {1, 0}, {2, 6}, {4, 0}}

// TestDefinitionsReplay compares runs of one seed in which clients define kinds and use them at once,
// on machines of different speeds. Clients that neither drive the cluster nor let it settle between their
// requests race with the controllers, so what a controller has seen before it writes may differ: then only the
// order and times of the writes that follow one another are compared, where no two controllers compete.
func TestDefinitionsReplay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, course := range definitionCourses {
		for _, driven := range []bool{true, false} {
			for _, settled := range []bool{true, false} {
				races := !driven && !settled
				if races && !slices.Contains([]string{"owner", "again"}, name) {
					continue
				}
				t.Run(fmt.Sprintf("%s/driven=%v/settled=%v", name, driven, settled), func(t *testing.T) {
					act := func(ctx context.Context, d *driver) error {
						for i, s := range course.acts {
							if err := s(ctx, d); err != nil {
								return fmt.Errorf("step %d: %w", i, err)
							}
							if settled {
								if err := pass(0)(ctx, d); err != nil {
									return err
								}
							}
						}
						return inOrder(ctx, d, append([]step{pass(0)}, course.after...)...)
					}
					compareRuns(t, act, func(o *minikcm.Options) { o.Clock.Driven = driven }, races)
				})
			}
		}
	}
}

var causes = regexp.MustCompile(`causes \[[^]]*]`)

// compareRuns compares the writes of runs on different machines, without their causes if the client races.
func compareRuns(t *testing.T, act step, change func(*minikcm.Options), races bool) {
	t.Helper()
	var first []string
	for n := range *runs {
		machine := machines[n%len(machines)]
		runtime.GOMAXPROCS(machine.procs)
		end := busyMachine(machine.load)
		again := writesOf(t, 7, act, change)
		end()
		for i := range again {
			if races {
				again[i] = causes.ReplaceAllString(again[i], "")
			}
		}
		if n == 0 {
			first = again
			continue
		}
		if at := firstDifference(first, again); at >= 0 {
			t.Fatalf("run %d (%+v) differs from the first one at write %d of %d:\n%s", n+1, machine, at, len(first), cmp.Diff(around(first, at), around(again, at)))
		}
	}
}

var _ = clock.ModeVirtual
