package determinism

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim"
)

// driver makes random changes to a cluster. They follow from its seed.
type driver struct {
	cluster *minikcm.Cluster
	client  kubernetes.Interface
	random  *clock.Random
}

// step makes one change.
type step func(ctx context.Context, d *driver) error

func inOrder(ctx context.Context, d *driver, steps ...step) error {
	for i, s := range steps {
		if err := s(ctx, d); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func pass(t time.Duration) step {
	return func(ctx context.Context, d *driver) error { return d.cluster.Advance(ctx, t) }
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func template(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image:1"}}},
	}
}

func deployment(name string, replicas int32) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
			ObjectMeta: meta(name),
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(name), Template: template(name)},
		}, metav1.CreateOptions{})
		return err
	}
}

func service(name string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.CoreV1().Services("default").Create(ctx, &corev1.Service{
			ObjectMeta: meta(name),
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		return err
	}
}

func budget(name string, available int) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: meta(name),
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt(available)), Selector: selector(name)},
		}, metav1.CreateOptions{})
		return err
	}
}

func statefulSet(name string, replicas int32) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.AppsV1().StatefulSets("default").Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: meta(name),
			Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: name, Selector: selector(name), Template: template(name)},
		}, metav1.CreateOptions{})
		return err
	}
}

func daemonSet(name string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.AppsV1().DaemonSets("default").Create(ctx, &appsv1.DaemonSet{
			ObjectMeta: meta(name),
			Spec:       appsv1.DaemonSetSpec{Selector: selector(name), Template: template(name)},
		}, metav1.CreateOptions{})
		return err
	}
}

// work returns a template of pods that end, some of them with a failure.
func work(name string, annotations map[string]string) corev1.PodTemplateSpec {
	t := template(name)
	t.Annotations = annotations
	t.Spec.RestartPolicy = corev1.RestartPolicyNever
	t.Spec.Containers[0].Command = []string{"sh", "-c", "sleep 5; exit $((RANDOM % 3 / 2))"}
	return t
}

func jobSpec(name string, completions, parallelism int32) batchv1.JobSpec {
	return batchv1.JobSpec{
		Completions: &completions, Parallelism: &parallelism, BackoffLimit: ptr.To[int32](20), Template: work(name, nil),
		TTLSecondsAfterFinished: ptr.To[int32](120),
	}
}

func job(name string, completions, parallelism int32) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.BatchV1().Jobs("default").Create(ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: jobSpec(name, completions, parallelism),
		}, metav1.CreateOptions{})
		return err
	}
}

func cronJob(name, schedule string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.BatchV1().CronJobs("default").Create(ctx, &batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       batchv1.CronJobSpec{Schedule: schedule, JobTemplate: batchv1.JobTemplateSpec{Spec: jobSpec(name, 2, 2)}},
		}, metav1.CreateOptions{})
		return err
	}
}

// roll changes the image of a Deployment.
func roll(name, image string) step {
	return func(ctx context.Context, d *driver) error {
		patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":%q}]}}}}`, image)
		_, err := d.client.AppsV1().Deployments("default").Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// kill deletes one of the running pods with the label, at once.
func kill(name string) step {
	return func(ctx context.Context, d *driver) error {
		pods, err := d.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + name, FieldSelector: "status.phase=Running"})
		if err != nil || len(pods.Items) == 0 {
			return err
		}
		slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
		victim := pods.Items[d.random.IntN(len(pods.Items))].Name
		return d.client.CoreV1().Pods("default").Delete(ctx, victim, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	}
}

func node(name string, do func(k *kubeletsim.Kubelets, name string) error) step {
	return func(_ context.Context, d *driver) error { return do(d.cluster.Kubelets(), name) }
}

func makeNode(name string) step {
	return func(ctx context.Context, d *driver) error {
		_, err := d.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
}

func deleteNode(name string) step {
	return func(ctx context.Context, d *driver) error {
		return d.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	}
}
