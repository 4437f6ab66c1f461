package scenarios

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

const makesWeb = header + `  steps:
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec:
              replicas: 2
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {containers: [{name: web, image: nginx}]}
    - apply: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {containers: [{name: a, image: nginx}]}}]}
    - wait: {target: deployment/web, for: rollout}
    - wait: {target: pod/alone, for: condition=Ready}
    - kill: {pods: {selector: app=web}}
    - fault: {pods: {action: kill, selector: app=web}}
    - scale: {target: deployment/web, replicas: 3}
    - expect:
        within: 1m
        objects: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, status: {readyReplicas: 3}}]
        absent: [{apiVersion: v1, kind: ConfigMap, metadata: {name: none, namespace: default}}]
        counts: [{target: pods, selector: app=web, equals: 3}]
        given: {web: {target: deployment/web}}
        cel: [web.spec.replicas == 3]
`

// A scenario on a cluster that was there already changes nothing that no scenario has
// made, and can have a namespace of its own.
func TestExistingCluster(t *testing.T) {
	t.Parallel()
	cluster := minikcmtest.New(t)
	client := cluster.Client()
	run := func(opts Options) (*Result, error) {
		t.Helper()
		found, err := Parse("scenario.yaml", []byte(makesWeb), nil)
		if err != nil {
			t.Fatal(err)
		}
		opts.Config = cluster.Config()
		return Run(t.Context(), found[0], opts)
	}
	pass := func(opts Options) *transcript {
		t.Helper()
		tr := &transcript{}
		opts.Progress = tr
		if result, err := run(opts); err != nil || result.Failure != nil {
			t.Fatalf("%v\n%s", err, tr)
		}
		return tr
	}
	if tr := pass(Options{Namespace: "rehearsal"}); len(tr.behind) == 0 || tr.behind[0] != "cluster: namespace rehearsal takes the place of default; it is deleted at the end" {
		t.Errorf("notes: %q", tr.behind)
	}
	namespace, err := client.CoreV1().Namespaces().Get(t.Context(), "rehearsal", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && (err != nil || namespace.DeletionTimestamp == nil) {
		t.Errorf("the namespace is still there: %v", err)
	}
	deployments := client.AppsV1().Deployments(metav1.NamespaceDefault)
	if all, err := deployments.List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) != 0 {
		t.Errorf("%d Deployments are in the namespace default: %v", len(all.Items), err)
	}

	pass(Options{}) // in default, which has no such objects
	pass(Options{}) // they are the scenario's
	web, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	web.ObjectMeta = metav1.ObjectMeta{Name: "web"}
	if _, err := deployments.Create(t.Context(), web, metav1.CreateOptions{FieldManager: "kubectl-create"}); err != nil {
		t.Fatal(err)
	}
	var refused *OverwriteError
	if _, err := run(Options{}); !errors.As(err, &refused) || strings.Join(refused.Objects, ", ") != "deployment/web in namespace default" {
		t.Errorf("got %v, want that web would be changed", err)
	}
	pass(Options{Namespace: "rehearsal-2"})
	pass(Options{Overwrite: true})
}

func TestOwnNamespace(t *testing.T) {
	shipped, own := &Scenario{File: "library/drain.yaml", Metadata: Metadata{Name: "drain"}}, &Scenario{File: "drain.yaml", Metadata: Metadata{Name: "drain"}}
	for _, test := range []struct {
		scenario *Scenario
		opts     Options
		want     string
	}{
		{shipped, Options{}, "minikcm-drain"},
		{shipped, Options{Overwrite: true}, ""},
		{shipped, Options{Namespace: "a"}, "a"},
		{own, Options{}, ""},
		{own, Options{Namespace: "a"}, "a"},
	} {
		if got := ownNamespace(test.scenario, &test.opts); got != test.want {
			t.Errorf("%s with %+v: got %q, want %q", test.scenario.File, test.opts, got, test.want)
		}
	}
}
