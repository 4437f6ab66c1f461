package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

// kind is one of the two kinds that keep a number of pods. Both behave the same. The object
// is always named web.
type kind struct {
	name, component string
	create          func(ctx context.Context, client kubernetes.Interface, replicas int32, template corev1.PodTemplateSpec) error
	get             func(ctx context.Context, client kubernetes.Interface) (*appsv1.ReplicaSet, error)
	patch           func(ctx context.Context, client kubernetes.Interface, patch string) error
	scale           func(ctx context.Context, client kubernetes.Interface) (*autoscalingv1.Scale, error)
	rescale         func(ctx context.Context, client kubernetes.Interface, scale *autoscalingv1.Scale) error
	remove          func(ctx context.Context, client kubernetes.Interface, opts metav1.DeleteOptions) error
	// orphans: a delete without a propagation policy orphans the pods.
	orphans bool
}

func kinds() []kind { return []kind{replicaSets(), replicationControllers()} }

func replicaSets() kind {
	return kind{
		name: "ReplicaSet", component: "replicaset-controller",
		create: func(ctx context.Context, client kubernetes.Interface, replicas int32, template corev1.PodTemplateSpec) error {
			_, err := client.AppsV1().ReplicaSets("default").Create(ctx, &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
			}, metav1.CreateOptions{})
			return err
		},
		get: func(ctx context.Context, client kubernetes.Interface) (*appsv1.ReplicaSet, error) {
			return client.AppsV1().ReplicaSets("default").Get(ctx, "web", metav1.GetOptions{})
		},
		patch: func(ctx context.Context, client kubernetes.Interface, patch string) error {
			_, err := client.AppsV1().ReplicaSets("default").Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		},
		scale: func(ctx context.Context, client kubernetes.Interface) (*autoscalingv1.Scale, error) {
			return client.AppsV1().ReplicaSets("default").GetScale(ctx, "web", metav1.GetOptions{})
		},
		rescale: func(ctx context.Context, client kubernetes.Interface, scale *autoscalingv1.Scale) error {
			_, err := client.AppsV1().ReplicaSets("default").UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
			return err
		},
		remove: func(ctx context.Context, client kubernetes.Interface, opts metav1.DeleteOptions) error {
			return client.AppsV1().ReplicaSets("default").Delete(ctx, "web", opts)
		},
	}
}

func replicationControllers() kind {
	return kind{
		name: "ReplicationController", component: "replication-controller",
		create: func(ctx context.Context, client kubernetes.Interface, replicas int32, template corev1.PodTemplateSpec) error {
			_, err := client.CoreV1().ReplicationControllers("default").Create(ctx, &corev1.ReplicationController{
				ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Template: &template},
			}, metav1.CreateOptions{})
			return err
		},
		get: func(ctx context.Context, client kubernetes.Interface) (*appsv1.ReplicaSet, error) {
			rc, err := client.CoreV1().ReplicationControllers("default").Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			rs := &appsv1.ReplicaSet{ObjectMeta: rc.ObjectMeta, Status: appsv1.ReplicaSetStatus{
				ObservedGeneration: rc.Status.ObservedGeneration, Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas,
				ReadyReplicas: rc.Status.ReadyReplicas, AvailableReplicas: rc.Status.AvailableReplicas,
			}}
			for _, c := range rc.Status.Conditions {
				rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
					Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message,
				})
			}
			return rs, nil
		},
		patch: func(ctx context.Context, client kubernetes.Interface, patch string) error {
			_, err := client.CoreV1().ReplicationControllers("default").Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		},
		scale: func(ctx context.Context, client kubernetes.Interface) (*autoscalingv1.Scale, error) {
			return client.CoreV1().ReplicationControllers("default").GetScale(ctx, "web", metav1.GetOptions{})
		},
		rescale: func(ctx context.Context, client kubernetes.Interface, scale *autoscalingv1.Scale) error {
			_, err := client.CoreV1().ReplicationControllers("default").UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
			return err
		},
		remove: func(ctx context.Context, client kubernetes.Interface, opts metav1.DeleteOptions) error {
			return client.CoreV1().ReplicationControllers("default").Delete(ctx, "web", opts)
		},
		orphans: true,
	}
}

// kindCluster is a cluster on virtual time with an object of one kind in it.
type kindCluster struct {
	*minikcmtest.Cluster
	kind
	t *testing.T
}

// eachKind runs a test with an object of each kind.
func eachKind(t *testing.T, test func(t *testing.T, c *kindCluster)) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, &kindCluster{minikcmtest.New(t, minikcmtest.WithVirtualTime()), k, t})
		})
	}
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
}

func (c *kindCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// make creates the object.
func (c *kindCluster) make(replicas int32, change func(template *corev1.PodTemplateSpec)) {
	c.t.Helper()
	made := template()
	if change != nil {
		change(&made)
	}
	c.must(c.create(c.t.Context(), c.Client(), replicas, made))
}

// ready waits until the object has exactly so many pods, all available, and returns the
// pods that it controls.
func (c *kindCluster) ready(replicas int32) []corev1.Pod {
	c.t.Helper()
	var controlled []corev1.Pod
	c.Eventually(fmt.Sprintf("%d pods", replicas), func(ctx context.Context, client kubernetes.Interface) error {
		owner, err := c.get(ctx, client)
		if err != nil {
			return err
		}
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		controlled = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, owner) })
		s := owner.Status
		if s.ObservedGeneration < owner.Generation || s.Replicas != replicas || s.AvailableReplicas != replicas || len(controlled) != int(replicas) {
			return fmt.Errorf("it controls %d pods; status %+v", len(controlled), s)
		}
		return nil
	})
	return controlled
}
