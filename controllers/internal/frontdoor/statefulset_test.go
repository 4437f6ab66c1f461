package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"minikcm.dev/minikcm/minikcmtest"
)

// setCluster is a cluster on virtual time with one StatefulSet in it.
type setCluster struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newSetCluster(t *testing.T, replicas int32, change func(s *appsv1.StatefulSet)) *setCluster {
	t.Helper()
	c := &setCluster{minikcmtest.New(t, minikcmtest.WithVirtualTime()), t}
	labels := map[string]string{"app": "web"}
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "nginx",
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
			},
		},
	}
	if change != nil {
		change(s)
	}
	c.create(s)
	return c
}

func (c *setCluster) create(s *appsv1.StatefulSet) {
	c.t.Helper()
	if _, err := c.Client().AppsV1().StatefulSets("default").Create(c.t.Context(), s, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *setCluster) update(change func(s *appsv1.StatefulSet)) {
	c.t.Helper()
	sets := c.Client().AppsV1().StatefulSets("default")
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		s, err := sets.Get(c.t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(s)
		_, err = sets.Update(c.t.Context(), s, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func setImage(name string) func(s *appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = name }
}

func setReplicas(n int32) func(s *appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n }
}

func (c *setCluster) eventually(what string, check func(s *appsv1.StatefulSet) error) *appsv1.StatefulSet {
	c.t.Helper()
	var s *appsv1.StatefulSet
	c.Eventually(what, func(ctx context.Context, client kubernetes.Interface) error {
		var err error
		if s, err = client.AppsV1().StatefulSets("default").Get(ctx, "web", metav1.GetOptions{}); err != nil {
			return err
		}
		return check(s)
	})
	return s
}

// setComplete checks that all replicas are available and have the newest revision.
func setComplete(s *appsv1.StatefulSet) error {
	n, got := *s.Spec.Replicas, s.Status
	if got.ObservedGeneration < s.Generation || got.Replicas != n || got.UpdatedReplicas != n || got.CurrentReplicas != n ||
		got.AvailableReplicas != n || got.CurrentRevision != got.UpdateRevision {
		return fmt.Errorf("status %+v", got)
	}
	return nil
}

// images returns the pods' images by pod name.
func (c *setCluster) images() map[string]string {
	c.t.Helper()
	images := map[string]string{}
	for _, pod := range c.pods() {
		images[pod.Name] = pod.Spec.Containers[0].Image
	}
	return images
}

func (c *setCluster) pods() []corev1.Pod {
	c.t.Helper()
	return podsWith(c.t, c.Cluster, "app=web")
}

func TestStatefulSetPodsHaveIdentities(t *testing.T) {
	t.Parallel()
	c := newSetCluster(t, 3, func(s *appsv1.StatefulSet) {
		s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 4}
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{setClaim("data")}
	})
	s := c.eventually("the pods", setComplete)
	pods := c.pods()
	if len(pods) != 3 {
		t.Fatalf("%d pods", len(pods))
	}
	for i, pod := range pods {
		name := fmt.Sprintf("web-%d", i+4)
		want := map[string]string{
			"app": "web", "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": fmt.Sprint(i + 4),
			"controller-revision-hash": s.Status.CurrentRevision,
		}
		if diff := cmp.Diff(want, pod.Labels); diff != "" || pod.Name != name {
			t.Errorf("%s, labels (-want +got):\n%s", pod.Name, diff)
		}
		if pod.Spec.Hostname != name || pod.Spec.Subdomain != "nginx" || pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-"+name {
			t.Errorf("%s: hostname %q, subdomain %q, volumes %v", name, pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.Volumes)
		}
	}
	c.EventuallyEvent("default", "StatefulSet", "Normal SuccessfulCreate Create Pod web-4 in StatefulSet web successful")
	c.EventuallyEvent("default", "StatefulSet", "Normal SuccessfulCreate Create Claim data-web-6 Pod web-6 in StatefulSet web success")
}

func setClaim(name string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func TestStatefulSetRollOutAndBack(t *testing.T) {
	t.Parallel()
	c := newSetCluster(t, 3, nil)
	first := c.eventually("the first rollout", setComplete).Status.CurrentRevision
	c.update(setImage("nginx:2"))
	second := c.eventually("the second rollout", setComplete).Status.CurrentRevision
	if diff := cmp.Diff(map[string]string{"web-0": "nginx:2", "web-1": "nginx:2", "web-2": "nginx:2"}, c.images()); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	c.update(setImage("nginx:1"))
	if got := c.eventually("the way back", setComplete).Status.CurrentRevision; got != first || first == second {
		t.Errorf("revisions %s, %s and then %s", first, second, got)
	}
	list, err := c.Client().AppsV1().ControllerRevisions("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int64{}
	for _, r := range list.Items {
		numbers[r.Name] = r.Revision
	}
	if diff := cmp.Diff(map[string]int64{first: 3, second: 2}, numbers); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
}

func TestStatefulSetHistoryLimit(t *testing.T) {
	t.Parallel()
	limit := int32(1)
	c := newSetCluster(t, 1, func(s *appsv1.StatefulSet) { s.Spec.RevisionHistoryLimit = &limit })
	for i := range 4 {
		c.update(setImage(fmt.Sprintf("nginx:%d", i+1)))
		c.eventually("a rollout", setComplete)
	}
	c.Eventually("the history to shrink", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.AppsV1().ControllerRevisions("default").List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) != 2 {
			return fmt.Errorf("%d revisions", len(list.Items))
		}
		return err
	})
}

func TestStatefulSetPartition(t *testing.T) {
	t.Parallel()
	c := newSetCluster(t, 3, nil)
	c.eventually("the first rollout", setComplete)
	two := int32(2)
	c.update(func(s *appsv1.StatefulSet) {
		setImage("nginx:2")(s)
		s.Spec.UpdateStrategy.RollingUpdate.Partition = &two
	})
	partial := func(s *appsv1.StatefulSet) error {
		if s.Status.UpdatedReplicas != 1 || s.Status.AvailableReplicas != 3 {
			return fmt.Errorf("status %+v", s.Status)
		}
		return nil
	}
	c.eventually("the canary", partial)
	if err := c.Client().CoreV1().Pods("default").Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("web-0 to go", func(s *appsv1.StatefulSet) error {
		if s.Status.AvailableReplicas == 3 {
			return fmt.Errorf("status %+v", s.Status)
		}
		return nil
	})
	c.eventually("web-0 to come back", partial)
	if diff := cmp.Diff(map[string]string{"web-0": "nginx:1", "web-1": "nginx:1", "web-2": "nginx:2"}, c.images()); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	zero := int32(0)
	c.update(func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = &zero })
	c.eventually("the rest", setComplete)
}

func TestStatefulSetOnDelete(t *testing.T) {
	t.Parallel()
	c := newSetCluster(t, 2, func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType })
	ready := func(updated int32) func(s *appsv1.StatefulSet) error {
		return func(s *appsv1.StatefulSet) error {
			if s.Status.ObservedGeneration != s.Generation || s.Status.AvailableReplicas != 2 || s.Status.UpdatedReplicas != updated {
				return fmt.Errorf("status %+v", s.Status)
			}
			return nil
		}
	}
	c.eventually("the pods", ready(2))
	c.update(setImage("nginx:2"))
	c.eventually("it to be observed", ready(0))
	if err := c.Client().CoreV1().Pods("default").Delete(t.Context(), "web-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the new pod", ready(1))
	if diff := cmp.Diff(map[string]string{"web-0": "nginx:1", "web-1": "nginx:2"}, c.images()); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	if err := c.Client().CoreV1().Pods("default").Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the update to complete", setComplete)
}

func TestStatefulSetParallelWithMaxUnavailable(t *testing.T) {
	t.Parallel()
	most := intstr.FromString("50%")
	c := newSetCluster(t, 4, func(s *appsv1.StatefulSet) {
		s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: &most},
		}
	})
	c.eventually("the pods", setComplete)
	pods := c.pods()
	if !pods[0].CreationTimestamp.Equal(&pods[3].CreationTimestamp) {
		t.Errorf("created at %v and %v", pods[0].CreationTimestamp, pods[3].CreationTimestamp)
	}
	c.update(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such-node"} })
	c.eventually("the rollout to get stuck", func(s *appsv1.StatefulSet) error {
		if s.Status.UpdatedReplicas != 2 || s.Status.Replicas != 4 {
			return fmt.Errorf("status %+v", s.Status)
		}
		return nil
	})
	c.Advance(t.Context(), 10*time.Minute)
	s := c.eventually("nothing", func(*appsv1.StatefulSet) error { return nil })
	if s.Status.AvailableReplicas != 2 {
		t.Errorf("status %+v", s.Status)
	}
	c.update(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.NodeSelector = nil })
	c.eventually("the way back", setComplete)
}

func TestStatefulSetFailedPodIsRecreated(t *testing.T) {
	t.Parallel()
	c := newSetCluster(t, 2, nil)
	c.eventually("the pods", setComplete)
	before := c.pods()[0]
	before.Status.Phase, before.ResourceVersion = corev1.PodFailed, "" // unconditional: the pod may have changed
	if _, err := c.Client().CoreV1().Pods("default").UpdateStatus(t.Context(), &before, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("a new pod", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "web-0", metav1.GetOptions{})
		if err == nil && pod.UID == before.UID {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
	c.eventually("the pods again", setComplete)
	c.EventuallyEvent("default", "StatefulSet", "Normal SuccessfulDelete Delete Pod web-0 in StatefulSet web successful")
}

func TestStatefulSetMinReadySeconds(t *testing.T) {
	t.Parallel()
	c := newSetCluster(t, 3, func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 30 })
	begin := c.Clock().Now()
	c.eventually("the pods", setComplete)
	if took := c.Clock().Since(begin); took < 90*time.Second || took > 2*time.Minute {
		t.Errorf("it took %v", took)
	}
	pods := c.pods()
	for i := range 2 {
		if after := pods[i+1].CreationTimestamp.Sub(pods[i].CreationTimestamp.Time); after < 30*time.Second {
			t.Errorf("%s came %v after its predecessor", pods[i+1].Name, after)
		}
	}
}

// claims returns the claims' names and the kinds of their owners.
func (c *setCluster) claims(ctx context.Context) (map[string]string, error) {
	list, err := c.Client().CoreV1().PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	owners := map[string]string{}
	for _, claim := range list.Items {
		owners[claim.Name] = ""
		for _, ref := range claim.OwnerReferences {
			owners[claim.Name] += ref.Kind
		}
	}
	return owners, nil
}

func (c *setCluster) wantClaims(what string, want map[string]string) {
	c.t.Helper()
	c.Eventually(what, func(ctx context.Context, _ kubernetes.Interface) error {
		got, err := c.claims(ctx)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			return fmt.Errorf("claims (-want +got):\n%s", diff)
		}
		return err
	})
}

func TestStatefulSetRetainedClaims(t *testing.T) {
	t.Parallel()
	const remove, retain = appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	for _, tc := range []struct {
		deleted, scaled                appsv1.PersistentVolumeClaimRetentionPolicyType
		first, afterScale, afterDelete map[string]string
	}{
		{retain, retain, map[string]string{"data-web-0": "", "data-web-1": ""}, map[string]string{"data-web-0": "", "data-web-1": ""}, map[string]string{"data-web-0": "", "data-web-1": ""}},
		{remove, retain, map[string]string{"data-web-0": "StatefulSet", "data-web-1": "StatefulSet"}, map[string]string{"data-web-0": "StatefulSet", "data-web-1": "StatefulSet"}, map[string]string{}},
		{retain, remove, map[string]string{"data-web-0": "", "data-web-1": ""}, map[string]string{"data-web-0": ""}, map[string]string{"data-web-0": ""}},
		{remove, remove, map[string]string{"data-web-0": "StatefulSet", "data-web-1": "StatefulSet"}, map[string]string{"data-web-0": "StatefulSet"}, map[string]string{}},
	} {
		t.Run(fmt.Sprintf("whenDeleted %s, whenScaled %s", tc.deleted, tc.scaled), func(t *testing.T) {
			t.Parallel()
			c := newSetCluster(t, 2, func(s *appsv1.StatefulSet) {
				s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{setClaim("data")}
				s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: tc.deleted, WhenScaled: tc.scaled}
			})
			c.eventually("the pods", setComplete)
			c.wantClaims("the claims", tc.first)
			c.update(setReplicas(1))
			c.eventually("the second one to go", setComplete)
			c.wantClaims("the claims after scaling down", tc.afterScale)
			c.update(setReplicas(2))
			c.eventually("it to come back", setComplete)
			c.wantClaims("the claims after scaling up", tc.first)
			c.update(setReplicas(1))
			c.eventually("it to go again", setComplete)
			if err := c.Client().AppsV1().StatefulSets("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			c.Eventually("the pods to go", func(ctx context.Context, client kubernetes.Interface) error {
				_, err := client.CoreV1().Pods("default").Get(ctx, "web-0", metav1.GetOptions{})
				if !apierrors.IsNotFound(err) {
					return fmt.Errorf("getting web-0: %v", err)
				}
				return nil
			})
			c.wantClaims("the claims after deletion", tc.afterDelete)
		})
	}
}
