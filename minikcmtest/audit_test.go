package minikcmtest_test

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/minikcmtest"
)

// events collects audit events.
type events struct {
	mu  sync.Mutex
	all []*auditv1.Event
}

func (e *events) add(event *auditv1.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// of returns the events of a client, in the order of their requests.
func (e *events) of(userAgent string) []*auditv1.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []*auditv1.Event
	for _, event := range e.all {
		if event.UserAgent == userAgent {
			found = append(found, event)
		}
	}
	return found
}

// auditClient returns a client of the cluster with a user agent of its own.
func auditClient(t *testing.T, cluster *minikcmtest.Cluster, change func(*rest.Config)) *kubernetes.Clientset {
	t.Helper()
	config := rest.CopyConfig(cluster.Config())
	config.UserAgent = t.Name()
	if change != nil {
		change(config)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestAuditEvents makes one request of each sort and compares all its events with a golden
// file.
func TestAuditEvents(t *testing.T) {
	t.Parallel()
	var recorded events
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithAudit(auditv1.Policy{
		Rules: []auditv1.PolicyRule{
			{Level: auditv1.LevelMetadata, Resources: []auditv1.GroupResources{{Resources: []string{"secrets"}}}},
			{Level: auditv1.LevelNone, Resources: []auditv1.GroupResources{{Resources: []string{"configmaps"}, ResourceNames: []string{"quiet"}}}},
			{Level: auditv1.LevelRequest, NonResourceURLs: []string{"/version"}},
			{Level: auditv1.LevelNone, NonResourceURLs: []string{"*"}},
			{Level: auditv1.LevelMetadata, Users: []string{"alice"}},
			{
				Level: auditv1.LevelRequestResponse, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
				OmitManagedFields: new(true), Verbs: []string{"create", "patch", "list", "delete", "get"},
			},
			{Level: auditv1.LevelRequest},
		},
	}, recorded.add))
	ctx, client := t.Context(), auditClient(t, cluster, nil)
	maps := client.CoreV1().ConfigMaps("default")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	created, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{FieldManager: "test"})
	must(created, err)
	created.Data["a"] = "2"
	must(maps.Update(ctx, created, metav1.UpdateOptions{}))
	must(maps.Patch(ctx, "c", types.MergePatchType, []byte(`{"data":{"a":"3"}}`), metav1.PatchOptions{}))
	must(maps.List(ctx, metav1.ListOptions{LabelSelector: "none=such"}))
	if _, err := maps.Get(ctx, "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading a missing ConfigMap: %v", err)
	}
	if _, err := maps.Get(ctx, "quiet", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading a missing ConfigMap: %v", err)
	}
	must(client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"password": "hidden"}}, metav1.CreateOptions{}))
	policy := metav1.DeletePropagationBackground
	must(nil, maps.Delete(ctx, "c", metav1.DeleteOptions{PropagationPolicy: &policy}))
	must(client.Discovery().ServerVersion())
	alice := auditClient(t, cluster, func(c *rest.Config) {
		c.Impersonate = rest.ImpersonationConfig{UserName: "alice", Groups: []string{"staff"}}
	})
	if _, err := alice.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without permissions lists pods: %v", err)
	}
	got := recorded.of(t.Name())
	for _, event := range got {
		if event.StageTimestamp.Time.Before(event.RequestReceivedTimestamp.Time) || event.StageTimestamp.Sub(cluster.Clock().Now()).Abs() > clockTolerance {
			t.Errorf("%s %s happened at %v, received at %v", event.Stage, event.RequestURI, event.StageTimestamp, event.RequestReceivedTimestamp)
		}
	}
	golden.Compare(t, "testdata/audit.jsonl", normalized(t, got))
}

// TestAuditedWatch watches until a timeout and until the client ends the watch, and compares
// the events of both requests with a golden file: a watch has a stage ResponseStarted, and its
// level RequestResponse records no objects.
func TestAuditedWatch(t *testing.T) {
	t.Parallel()
	var recorded events
	ended := make(chan struct{}, 2)
	cluster := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithAudit(auditv1.Policy{
		Rules: []auditv1.PolicyRule{{Level: auditv1.LevelRequestResponse}},
	}, func(event *auditv1.Event) {
		recorded.add(event)
		if event.UserAgent == t.Name() && event.Verb == "watch" && event.Stage == auditv1.StageResponseComplete {
			ended <- struct{}{}
		}
	}))
	ctx, maps := t.Context(), auditClient(t, cluster, nil).CoreV1().ConfigMaps("default")
	for _, opts := range []metav1.ListOptions{{FieldSelector: "metadata.name=c", TimeoutSeconds: new(int64(5))}, {ResourceVersion: "0", AllowWatchBookmarks: true}} {
		watch, err := maps.Watch(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		if opts.TimeoutSeconds == nil {
			if _, err := cluster.Client().CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-watch.ResultChan()
			watch.Stop()
		} else if err := cluster.Advance(ctx, 6*time.Second); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-ctx.Done():
			t.Fatal("the watch has not ended")
		}
		watch.Stop()
	}
	golden.Compare(t, "testdata/auditwatch.jsonl", normalized(t, recorded.of(t.Name())))
}

// clockTolerance is how far virtual time may move while the test runs.
const clockTolerance = time.Minute

var changing = regexp.MustCompile(`"(auditID|uid|requestReceivedTimestamp|stageTimestamp|creationTimestamp|resourceVersion|buildDate|gitVersion|goVersion|platform)":"[^"]*"`)

// normalized returns the events as lines of JSON, without what differs between runs, grouped
// by request.
func normalized(t *testing.T, all []*auditv1.Event) string {
	t.Helper()
	ids := map[types.UID]int{}
	for _, event := range all {
		if _, known := ids[event.AuditID]; !known {
			ids[event.AuditID] = len(ids)
		}
	}
	slices.SortStableFunc(all, func(a, b *auditv1.Event) int { return cmp.Compare(ids[a.AuditID], ids[b.AuditID]) })
	var text strings.Builder
	for _, event := range all {
		line, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(changing.ReplaceAll(line, []byte(`"$1":"-"`)))
		text.WriteByte('\n')
	}
	return text.String()
}

func createDeployment(t *testing.T, cluster *minikcmtest.Cluster, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
	if _, err := cluster.Client().AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestAuditOfParts checks that the requests of controllers, scheduler and kubelets are
// recorded under their own users.
func TestAuditOfParts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	users := map[string]bool{}
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithAudit(auditv1.Policy{
		Rules: []auditv1.PolicyRule{{Level: auditv1.LevelMetadata, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived}}},
	}, func(event *auditv1.Event) {
		mu.Lock()
		defer mu.Unlock()
		users[event.User.Username] = true
	}))
	createDeployment(t, cluster, 2)
	if err := cluster.Advance(t.Context(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, user := range []string{
		"system:kube-scheduler", "system:serviceaccount:kube-system:deployment-controller", "system:serviceaccount:kube-system:replicaset-controller",
	} {
		if !users[user] {
			t.Errorf("no event of %s; there are events of %v", user, users)
		}
	}
}

// TestAuditChangesNothing checks that two runs with one seed, with and without audit, make
// the same objects at the same time.
func TestAuditChangesNothing(t *testing.T) {
	t.Parallel()
	run := func(opts ...minikcmtest.Option) string {
		cluster := minikcmtest.New(t, append(opts, minikcmtest.WithVirtualTime())...)
		if _, virtual := cluster.Clock().(*clock.Virtual); !virtual {
			t.Fatal("the clock is not virtual")
		}
		createDeployment(t, cluster, 3)
		if err := cluster.Advance(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		pods, err := cluster.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, pod := range pods.Items {
			text.WriteString(pod.Name + " " + string(pod.UID) + " " + pod.Status.StartTime.String() + "\n")
		}
		return text.String()
	}
	plain := run()
	audited := run(minikcmtest.WithAudit(auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelRequestResponse}}}, func(*auditv1.Event) {}))
	if plain != audited || plain == "" {
		t.Errorf("without audit:\n%s\nwith audit:\n%s", plain, audited)
	}
}
