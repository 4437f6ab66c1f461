//go:build unix

package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	jobPods       = 5000
	deployments   = 500
	eachReplicas  = 10
	cronJobs      = 10_000
	bigNodes      = 25
	bigTimeout    = 5 * time.Minute
	parallelCalls = 32
)

func startBig(ctx context.Context, b *testing.B, change func(*minikcm.Options)) *minikcm.Cluster {
	b.Helper()
	opts := minikcm.Options{Nodes: minikcm.NodeOptions{Count: bigNodes}, Seed: 1}
	if change != nil {
		change(&opts)
	}
	cluster, err := minikcm.Start(ctx, opts)
	if err != nil {
		b.Fatal(err)
	}
	return cluster
}

func closeBig(b *testing.B, cluster *minikcm.Cluster) {
	b.Helper()
	if err := cluster.Close(); err != nil {
		b.Fatal(err)
	}
}

// inParallel calls do with each number below n, several concurrently.
func inParallel(b *testing.B, n int, do func(i int) error) {
	b.Helper()
	var group sync.WaitGroup
	next := make(chan int)
	for range parallelCalls {
		group.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// until reads a watch until done returns true for an event.
func until(ctx context.Context, b *testing.B, watcher watch.Interface, done func(watch.Event) bool) {
	b.Helper()
	defer watcher.Stop()
	for {
		select {
		case ev, ok := <-watcher.ResultChan():
			if !ok {
				b.Fatal("the watch ended")
			}
			if done(ev) {
				return
			}
		case <-ctx.Done():
			b.Fatal(ctx.Err())
		}
	}
}

func template(policy corev1.RestartPolicy, labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
	}
}

// BenchmarkJob measures the time from the creation of a Job of 5,000 parallel pods, each of
// which runs for a second, until it is Complete.
func BenchmarkJob(b *testing.B) {
	for b.Loop() {
		runJob(b)
	}
}

func runJob(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, nil)
	defer closeBig(b, cluster)
	jobs := cluster.Client().BatchV1().Jobs(metav1.NamespaceDefault)
	elapsed := clock.Stopwatch()
	created, err := jobs.Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "big"}, Spec: batchv1.JobSpec{
		Parallelism: ptr.To[int32](jobPods), Completions: ptr.To[int32](jobPods), Template: template(corev1.RestartPolicyNever, nil),
	}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	watcher, err := jobs.Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	if err != nil {
		b.Fatal(err)
	}
	until(ctx, b, watcher, func(ev watch.Event) bool {
		job, ok := ev.Object.(*batchv1.Job)
		return ok && job.Status.CompletionTime != nil
	})
	took := elapsed().Seconds()
	measured.add("Job of 5,000 pods to Complete on 25 nodes", "s", took)
	measured.add("a Job's pods a second", "pods/s", jobPods/took)
}

// BenchmarkRollouts measures 500 Deployments of 10 pods: from their creation until they are
// Available, and from a change of their images until all have rolled out.
func BenchmarkRollouts(b *testing.B) {
	for b.Loop() {
		rollOutAll(b)
	}
}

func rollOutAll(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, nil)
	defer closeBig(b, cluster)
	client := cluster.Client().AppsV1().Deployments(metav1.NamespaceDefault)
	elapsed := clock.Stopwatch()
	all := watchAll(ctx, b, cluster)
	inParallel(b, deployments, func(i int) error {
		labels := map[string]string{"app": fmt.Sprint("web-", i)}
		_, err := client.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: labels["app"]}, Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](eachReplicas), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(corev1.RestartPolicyAlways, labels),
		}}, metav1.CreateOptions{})
		return err
	})
	allRolledOut(ctx, b, all, 1)
	measured.add("500 Deployments of 10 to Available on 25 nodes", "s", elapsed().Seconds())

	before := len(cluster.Writes().Writes(nil))
	elapsed = clock.Stopwatch()
	all = watchAll(ctx, b, cluster)
	inParallel(b, deployments, func(i int) error {
		_, err := client.Patch(ctx, fmt.Sprint("web-", i), types.StrategicMergePatchType,
			[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:2"}]}}}}`), metav1.PatchOptions{})
		return err
	})
	allRolledOut(ctx, b, all, 2)
	took := elapsed().Seconds()
	measured.add("500 Deployments of 10 rolled out at once", "s", took)
	measured.add("pods replaced a second", "pods/s", deployments*eachReplicas/took)
	measured.add("writes a replaced pod", "writes", float64(len(cluster.Writes().Writes(nil))-before)/(deployments*eachReplicas))
}

func watchAll(ctx context.Context, b *testing.B, cluster *minikcm.Cluster) watch.Interface {
	b.Helper()
	watcher, err := cluster.Client().AppsV1().Deployments(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return watcher
}

// allRolledOut waits until all pods of all Deployments belong to the generation.
func allRolledOut(ctx context.Context, b *testing.B, watcher watch.Interface, generation int64) {
	b.Helper()
	done := map[string]bool{}
	until(ctx, b, watcher, func(ev watch.Event) bool {
		if d, ok := ev.Object.(*appsv1.Deployment); ok {
			s := d.Status
			done[d.Name] = s.ObservedGeneration >= generation && s.UpdatedReplicas == eachReplicas && s.Replicas == eachReplicas && s.AvailableReplicas == eachReplicas
		}
		n := 0
		for _, is := range done {
			if is {
				n++
			}
		}
		return n == deployments
	})
}

// BenchmarkIdleCronJobs measures a day of virtual time with 10,000 CronJobs that are not due.
func BenchmarkIdleCronJobs(b *testing.B) {
	for b.Loop() {
		idleDay(b)
	}
}

func idleDay(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), bigTimeout)
	defer cancel()
	cluster := startBig(ctx, b, func(o *minikcm.Options) { o.Nodes.Count, o.Clock.Mode, o.API.NoHTTPS = 1, clock.ModeVirtual, true })
	defer closeBig(b, cluster)
	elapsed := clock.Stopwatch()
	if err := cluster.Advance(ctx, 24*time.Hour); err != nil {
		b.Fatal(err)
	}
	empty := elapsed().Seconds()
	measured.add("a virtual day without CronJobs", "s", empty)
	client := cluster.Client().BatchV1().CronJobs(metav1.NamespaceDefault)
	inParallel(b, cronJobs, func(i int) error {
		_, err := client.Create(ctx, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("yearly-", i)}, Spec: batchv1.CronJobSpec{
			Schedule: "0 0 31 12 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template(corev1.RestartPolicyNever, nil)}},
		}}, metav1.CreateOptions{})
		return err
	})
	if err := cluster.Advance(ctx, time.Second); err != nil {
		b.Fatal(err)
	}
	before := len(cluster.Writes().Writes(nil))
	elapsed = clock.Stopwatch()
	if err := cluster.Advance(ctx, 24*time.Hour); err != nil {
		b.Fatal(err)
	}
	measured.add("the same with 10,000 idle CronJobs", "s", elapsed().Seconds())
	measured.add("writes meanwhile", "writes", float64(len(cluster.Writes().Writes(nil))-before))
}
