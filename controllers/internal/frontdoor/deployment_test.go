package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"minikcm.dev/minikcm/minikcmtest"
)

const revision = "deployment.kubernetes.io/revision"

// deploymentCluster is a cluster on virtual time with one Deployment in it.
type deploymentCluster struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newDeploymentCluster(t *testing.T, replicas int32, change func(d *appsv1.Deployment)) *deploymentCluster {
	t.Helper()
	c := &deploymentCluster{minikcmtest.New(t, minikcmtest.WithVirtualTime()), t}
	c.create(replicas, change)
	return c
}

func (c *deploymentCluster) create(replicas int32, change func(d *appsv1.Deployment)) {
	c.t.Helper()
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
			},
		},
	}
	if change != nil {
		change(d)
	}
	if _, err := c.Client().AppsV1().Deployments("default").Create(c.t.Context(), d, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *deploymentCluster) update(change func(d *appsv1.Deployment)) {
	c.t.Helper()
	deployments := c.Client().AppsV1().Deployments("default")
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d, err := deployments.Get(c.t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(d)
		_, err = deployments.Update(c.t.Context(), d, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func image(name string) func(d *appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
}

// eventually waits until check passes, and returns the Deployment.
func (c *deploymentCluster) eventually(what string, check func(d *appsv1.Deployment) error) *appsv1.Deployment {
	c.t.Helper()
	var d *appsv1.Deployment
	c.Eventually(what, func(ctx context.Context, client kubernetes.Interface) error {
		var err error
		if d, err = client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{}); err != nil {
			return err
		}
		return check(d)
	})
	return d
}

func progressing(d *appsv1.Deployment) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

func complete(d *appsv1.Deployment) error {
	s, n := d.Status, *d.Spec.Replicas
	if s.ObservedGeneration < d.Generation || s.Replicas != n || s.UpdatedReplicas != n || s.AvailableReplicas != n || progressing(d).Reason != "NewReplicaSetAvailable" {
		return fmt.Errorf("status %+v", s)
	}
	return nil
}

func (c *deploymentCluster) ReplicaSets() map[string]appsv1.ReplicaSet {
	c.t.Helper()
	list, err := c.Client().AppsV1().ReplicaSets("default").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	byImage := map[string]appsv1.ReplicaSet{}
	for _, rs := range list.Items {
		byImage[rs.Spec.Template.Spec.Containers[0].Image] = rs
	}
	return byImage
}

func TestRollOutAndBack(t *testing.T) {
	t.Parallel()
	c := newDeploymentCluster(t, 4, nil)
	if d := c.eventually("the first rollout", complete); d.Annotations[revision] != "1" {
		t.Errorf("annotations %v", d.Annotations)
	}
	c.update(image("nginx:2"))
	if d := c.eventually("the second rollout", complete); d.Annotations[revision] != "2" {
		t.Errorf("annotations %v", d.Annotations)
	}
	c.update(image("nginx:1"))
	if d := c.eventually("the way back", complete); d.Annotations[revision] != "3" {
		t.Errorf("annotations %v", d.Annotations)
	}
	sets := c.ReplicaSets()
	first, second := sets["nginx:1"], sets["nginx:2"]
	if len(sets) != 2 || *first.Spec.Replicas != 4 || *second.Spec.Replicas != 0 ||
		first.Annotations[revision] != "3" || first.Annotations["deployment.kubernetes.io/revision-history"] != "1" || second.Annotations[revision] != "2" {
		t.Errorf("ReplicaSets: %v", sets)
	}
	c.Eventually("the events", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Deployment"})
		if err != nil {
			return err
		}
		var got []string
		for _, e := range list.Items {
			if e.Reason == "ScalingReplicaSet" && e.Source.Component == "deployment-controller" {
				got = append(got, e.Message)
			}
		}
		for _, want := range []string{
			fmt.Sprintf("Scaled up replica set %s from 0 to 4", first.Name),
			fmt.Sprintf("Scaled up replica set %s from 0 to 1", second.Name),
			fmt.Sprintf("Scaled down replica set %s from 4 to 3", first.Name),
		} {
			if !slices.Contains(got, want) {
				return fmt.Errorf("%q is not among %q", want, got)
			}
		}
		return nil
	})
}

func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	deadline := int32(60)
	c := newDeploymentCluster(t, 2, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = &deadline })
	c.eventually("the first rollout", complete)
	start := c.Clock().Now()
	c.update(func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such-node"} })
	d := c.eventually("the deadline to pass", func(d *appsv1.Deployment) error {
		if progressing(d).Reason != "ProgressDeadlineExceeded" {
			return fmt.Errorf("conditions %+v", d.Status.Conditions)
		}
		return nil
	})
	if took := c.Clock().Since(start); took < time.Minute || took > 65*time.Second {
		t.Errorf("it took %v", took)
	}
	if got := progressing(d); got.Status != corev1.ConditionFalse || !strings.HasSuffix(got.Message, "has timed out progressing.") {
		t.Errorf("condition %+v", got)
	}
	if d.Status.AvailableReplicas < 2 {
		t.Errorf("old pods went though no new one came: %+v", d.Status)
	}
	c.update(func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = nil })
	c.eventually("the way back", complete)
}

func TestMinReadySeconds(t *testing.T) {
	t.Parallel()
	start := time.Time{}
	c := newDeploymentCluster(t, 3, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 30 })
	start = c.Clock().Now()
	c.eventually("all to be ready", func(d *appsv1.Deployment) error {
		if d.Status.ReadyReplicas != 3 {
			return fmt.Errorf("status %+v", d.Status)
		}
		if d.Status.AvailableReplicas != 0 {
			t.Errorf("available at once: %+v", d.Status)
		}
		return nil
	})
	c.eventually("all to be available", complete)
	if took := c.Clock().Since(start); took < 30*time.Second || took > 40*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestRecreate(t *testing.T) {
	t.Parallel()
	c := newDeploymentCluster(t, 3, func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType })
	c.eventually("the first rollout", complete)
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := c.Client().CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: pods.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	// Events that no client reads would hold virtual time.
	events := make(chan watch.Event, 1000)
	go func() {
		for ev := range watcher.ResultChan() {
			events <- ev
		}
	}()
	c.update(image("nginx:2"))
	c.eventually("the second rollout", complete)
	old := map[types.UID]bool{}
	for _, p := range pods.Items {
		old[p.UID] = true
	}
	for fresh := 0; fresh < 3; {
		ev := <-events
		p, ok := ev.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("watch: %+v", ev)
		}
		switch ev.Type {
		case "DELETED":
			delete(old, p.UID)
		case "ADDED":
			fresh++
			if len(old) > 0 {
				t.Fatalf("pod %s was made while %d old pods were there", p.Name, len(old))
			}
		}
	}
}

func TestTakenName(t *testing.T) {
	t.Parallel()
	c := newDeploymentCluster(t, 1, nil)
	c.eventually("the first rollout", complete)
	taken := c.ReplicaSets()["nginx:1"].Name
	client := c.Client().AppsV1()
	if err := client.Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("all to be gone", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.AppsV1().ReplicaSets("default").List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = errors.New("the ReplicaSet is there")
		}
		return err
	})
	none, other := int32(0), map[string]string{"app": "other"}
	stranger := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: taken},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: other},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: other},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "other"}}},
			},
		},
	}
	if _, err := client.ReplicaSets("default").Create(t.Context(), stranger, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.create(1, nil)
	d := c.eventually("the rollout under another name", complete)
	if d.Status.CollisionCount == nil || *d.Status.CollisionCount != 1 || c.ReplicaSets()["nginx:1"].Name == taken {
		t.Errorf("collision count %v, ReplicaSets %v", d.Status.CollisionCount, c.ReplicaSets())
	}
}

func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	limit := int32(2)
	c := newDeploymentCluster(t, 1, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &limit })
	c.eventually("the first rollout", complete)
	for i := 2; i <= 5; i++ {
		c.update(image(fmt.Sprintf("nginx:%d", i)))
		c.eventually("a rollout", complete)
	}
	c.eventually("the history to be cut", func(*appsv1.Deployment) error {
		sets := c.ReplicaSets()
		for _, kept := range []string{"nginx:3", "nginx:4", "nginx:5"} {
			if _, ok := sets[kept]; !ok || len(sets) != 3 {
				return fmt.Errorf("ReplicaSets %v", sets)
			}
		}
		return nil
	})
}
