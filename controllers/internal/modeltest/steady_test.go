package modeltest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/cronjob"
	"minikcm.dev/minikcm/controllers/internal/daemonset"
	"minikcm.dev/minikcm/controllers/internal/deployment"
	deploymentdecide "minikcm.dev/minikcm/controllers/internal/deployment/decide"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/job"
	"minikcm.dev/minikcm/controllers/internal/modeltest"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/replicaset"
	"minikcm.dev/minikcm/controllers/internal/statefulset"
	"minikcm.dev/minikcm/internal/loop"
)

var webLabels = map[string]string{"app": "web"}

func webMeta() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "a", Name: "web"} }

func webSelector() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: webLabels} }

func webTemplate(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	spec := image("1")
	spec.RestartPolicy = policy
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: webLabels}, Spec: spec}
}

func executorOf(a *modeltest.Actor) executor.Executor {
	return executor.Executor{Writer: a.Writer(), Parallel: 1}
}

// allReady makes every pod ready.
func allReady(run *modeltest.Run) {
	var todo []*corev1.Pod
	modeltest.Each(run.World, func(pod *corev1.Pod) {
		if !controllerref.Ready(pod) {
			todo = append(todo, pod)
		}
	})
	for _, pod := range todo {
		run.World.Change(pod, func(o plan.Object) {
			p := o.(*corev1.Pod)
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(run.Clock.Now())}}
		})
	}
}

// sceneries returns the worlds in which the reconcilers are measured, by controller.
func sceneries() map[string]func(n int) modeltest.Scenery {
	return map[string]func(n int) modeltest.Scenery{
		"replicaset": replicaSetOf, "deployment": deploymentOf, "deployment-recreate": recreatedOf,
		"statefulset": statefulSetOf, "daemonset": daemonSetOf, "job": jobOf, "indexed-job": indexedJobOf, "cronjob": cronJobOf,
		"endpointslice": endpointSlicesOf, "endpoints": endpointsOf,
		"ending-job": ending(jobOf), "ending-indexed-job": ending(indexedJobOf),
	}
}

func replicaSetOf(n int) modeltest.Scenery {
	return modeltest.Scenery{
		Owner: &appsv1.ReplicaSet{ObjectMeta: webMeta(), Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(int32(n)), Selector: webSelector(), Template: webTemplate(corev1.RestartPolicyAlways),
		}},
		Setup: func(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
			r, err := replicaset.NewReconciler(replicaset.ReplicaSets(), replicaset.Sources{
				Clock: run.Clock, ReplicaSets: a.Watch(&appsv1.ReplicaSet{}), Executor: executorOf(a),
			})
			if err != nil {
				return nil, err
			}
			a.Watch(&corev1.Pod{})
			a.OnEvent(&appsv1.ReplicaSet{}, r.OnReplicaSet)
			a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
			return r, nil
		},
		Tend: allReady,
	}
}

// deploymentOf returns a Deployment with n ReplicaSets in its history.
func deploymentOf(n int) modeltest.Scenery {
	d := &appsv1.Deployment{ObjectMeta: webMeta(), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](0), Selector: webSelector(), Template: webTemplate(corev1.RestartPolicyAlways),
		RevisionHistoryLimit: ptr.To(int32(n)), ProgressDeadlineSeconds: ptr.To[int32](600),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType},
	}}
	return modeltest.Scenery{Owner: d, Setup: setUpDeployment, Others: repeat(n, func(owner plan.Object, i int) plan.Object {
		template := webTemplate(corev1.RestartPolicyAlways)
		template.Spec.Containers[0].Image = fmt.Sprint("old-", i)
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "a", Name: fmt.Sprint("web-", i), Labels: webLabels,
				Annotations:     map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(i + 1)},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, deploymentdecide.Kind)},
			},
			Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](0), Selector: webSelector(), Template: template},
		}
	})}
}

// repeat returns a function that makes n objects.
func repeat(n int, make func(owner plan.Object, i int) plan.Object) func(plan.Object) []plan.Object {
	return func(owner plan.Object) []plan.Object {
		var all []plan.Object
		for i := range n {
			all = append(all, make(owner, i))
		}
		return all
	}
}

// recreatedOf returns a Deployment whose n pods are read too.
func recreatedOf(n int) modeltest.Scenery {
	d := &appsv1.Deployment{ObjectMeta: webMeta(), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(int32(n)), Selector: webSelector(), Template: webTemplate(corev1.RestartPolicyAlways),
		RevisionHistoryLimit: ptr.To[int32](10), ProgressDeadlineSeconds: ptr.To[int32](600),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
	}}
	return modeltest.Scenery{Owner: d, Setup: setUpDeployment, Tend: func(run *modeltest.Run) {
		for _, rs := range modeltest.List[*appsv1.ReplicaSet](run.World) {
			if rs.Status.ReadyReplicas == int32(n) {
				continue
			}
			run.World.Change(rs, func(o plan.Object) {
				o.(*appsv1.ReplicaSet).Status = appsv1.ReplicaSetStatus{Replicas: int32(n), ReadyReplicas: int32(n), AvailableReplicas: int32(n), ObservedGeneration: rs.Generation}
			})
			for i := range n {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Namespace: "a", Name: fmt.Sprint("web-", i), Labels: rs.Spec.Template.Labels,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
				}}
				if _, err := run.World.Create(context.Background(), pod); err != nil {
					panic(err)
				}
			}
		}
	}}
}

func setUpDeployment(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
	r, err := deployment.NewReconciler(deployment.Sources{
		Clock: run.Clock, Deployments: a.Watch(&appsv1.Deployment{}), ReplicaSets: a.Watch(&appsv1.ReplicaSet{}), Executor: executorOf(a),
	})
	if err != nil {
		return nil, err
	}
	a.Watch(&corev1.Pod{})
	a.OnEvent(&appsv1.Deployment{}, r.OnDeployment)
	a.OnEvent(&appsv1.ReplicaSet{}, r.OnReplicaSet)
	a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
	return r, nil
}

func statefulSetOf(n int) modeltest.Scenery {
	return modeltest.Scenery{
		Owner: &appsv1.StatefulSet{ObjectMeta: webMeta(), Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(int32(n)), Selector: webSelector(), Template: webTemplate(corev1.RestartPolicyAlways), RevisionHistoryLimit: ptr.To[int32](10),
			PodManagementPolicy: appsv1.ParallelPodManagement, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
		}},
		Setup: func(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
			r, err := statefulset.NewReconciler(statefulset.Sources{
				Clock: run.Clock, StatefulSets: a.Watch(&appsv1.StatefulSet{}),
				Revisions: a.Watch(&appsv1.ControllerRevision{}), Claims: a.Watch(&corev1.PersistentVolumeClaim{}), Executor: executorOf(a),
			})
			if err != nil {
				return nil, err
			}
			a.Watch(&corev1.Pod{})
			a.OnEvent(&appsv1.StatefulSet{}, r.OnStatefulSet)
			a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
			a.OnEvent(&appsv1.ControllerRevision{}, r.OnRevision)
			return r, nil
		},
		Tend: allReady,
	}
}

func daemonSetOf(n int) modeltest.Scenery {
	return modeltest.Scenery{
		Owner: &appsv1.DaemonSet{ObjectMeta: webMeta(), Spec: appsv1.DaemonSetSpec{
			Selector: webSelector(), Template: webTemplate(corev1.RestartPolicyAlways), RevisionHistoryLimit: ptr.To[int32](10),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
		}},
		Setup: func(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
			r, err := daemonset.NewReconciler(daemonset.Sources{
				Clock: run.Clock, DaemonSets: a.Watch(&appsv1.DaemonSet{}), Pods: a.Watch(&corev1.Pod{}),
				Revisions: a.Watch(&appsv1.ControllerRevision{}), Nodes: a.Watch(&corev1.Node{}), Executor: executorOf(a),
			})
			if err != nil {
				return nil, err
			}
			a.OnEvent(&appsv1.DaemonSet{}, r.OnDaemonSet)
			a.OnEvent(&corev1.Pod{}, r.OnPod)
			a.OnEvent(&appsv1.ControllerRevision{}, r.OnRevision)
			return r, nil
		},
		Tend: allReady,
		Others: repeat(n, func(_ plan.Object, i int) plan.Object {
			return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}
		}),
	}
}

func jobOf(n int) modeltest.Scenery {
	return modeltest.Scenery{
		Owner: &batchv1.Job{ObjectMeta: webMeta(), Spec: batchv1.JobSpec{
			Parallelism: ptr.To(int32(n)), Completions: ptr.To(int32(n)), BackoffLimit: ptr.To[int32](6), CompletionMode: ptr.To(batchv1.NonIndexedCompletion),
			PodReplacementPolicy: ptr.To(batchv1.TerminatingOrFailed), Suspend: ptr.To(false),
			Selector: webSelector(), Template: webTemplate(corev1.RestartPolicyNever),
		}},
		Setup: func(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
			r := job.NewReconciler(job.Sources{Clock: run.Clock, Jobs: a.Watch(&batchv1.Job{}), Executor: executorOf(a)})
			a.Watch(&corev1.Pod{})
			a.OnEvent(&batchv1.Job{}, r.OnJob)
			a.OnEvent(&corev1.Pod{}, r.OnPod, r.ObservePod)
			return r, nil
		},
		Tend: allReady,
	}
}

func indexedJobOf(n int) modeltest.Scenery {
	s := jobOf(n)
	s.Owner.(*batchv1.Job).Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	return s
}

// ending returns the worlds in which all pods of a Job but one have succeeded.
func ending(jobOf func(n int) modeltest.Scenery) func(n int) modeltest.Scenery {
	return func(n int) modeltest.Scenery {
		s := jobOf(n)
		s.Tend = func(run *modeltest.Run) {
			allReady(run)
			pods := modeltest.List[*corev1.Pod](run.World)
			if len(pods) < n {
				return
			}
			for _, pod := range pods[1:] {
				if pod.Status.Phase == corev1.PodRunning {
					run.World.Change(pod, func(o plan.Object) { o.(*corev1.Pod).Status.Phase = corev1.PodSucceeded })
				}
			}
		}
		return s
	}
}

// cronJobOf returns a CronJob that keeps n finished Jobs.
func cronJobOf(n int) modeltest.Scenery {
	cron := &batchv1.CronJob{ObjectMeta: webMeta(), Spec: batchv1.CronJobSpec{
		Schedule: "0 0 1 1 *", ConcurrencyPolicy: batchv1.AllowConcurrent, SuccessfulJobsHistoryLimit: ptr.To(int32(n)), FailedJobsHistoryLimit: ptr.To[int32](1),
	}}
	return modeltest.Scenery{
		Owner: cron,
		Setup: func(run *modeltest.Run, a *modeltest.Actor) (loop.Reconciler, error) {
			r, err := cronjob.NewReconciler(cronjob.Sources{
				Clock: run.Clock, CronJobs: a.Watch(&batchv1.CronJob{}), Jobs: a.Watch(&batchv1.Job{}), Executor: executorOf(a),
			})
			if err != nil {
				return nil, err
			}
			a.OnEvent(&batchv1.CronJob{}, r.OnCronJob)
			a.OnEvent(&batchv1.Job{}, r.OnJob)
			return r, nil
		},
		Others: repeat(n, func(owner plan.Object, i int) plan.Object {
			at := metav1.NewTime(time.Unix(900_000+int64(i), 0))
			return &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "a", Name: fmt.Sprint("web-", i), CreationTimestamp: at,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
				},
				Status: batchv1.JobStatus{StartTime: &at, CompletionTime: &at, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}},
			}
		}),
	}
}

// TestCostGrowsWithChildren checks that a reconcile of a converged owner costs no more than
// in proportion to its children.
func TestCostGrowsWithChildren(t *testing.T) {
	for name, scenery := range sceneries() {
		t.Run(name, func(t *testing.T) { modeltest.CheckGrowth(t, modeltest.Looking(scenery)) })
	}
}

// TestEventCostsTheSame checks that an event of one pod costs the same whatever the number of
// its siblings.
func TestEventCostsTheSame(t *testing.T) {
	for _, name := range []string{"replicaset", "statefulset", "deployment-recreate", "job", "indexed-job", "ending-job", "ending-indexed-job"} {
		t.Run(name, func(t *testing.T) { modeltest.CheckConstant(t, modeltest.Changing(sceneries()[name], togglePod)) })
	}
	for name, work := range events() {
		t.Run(name, func(t *testing.T) { modeltest.CheckConstant(t, work) })
	}
}

func BenchmarkReconcile(b *testing.B) {
	for name, scenery := range sceneries() {
		b.Run(name, func(b *testing.B) { modeltest.Benchmark(b, modeltest.Looking(scenery)) })
	}
}

// togglePod makes a pod unready, and the next time ready again.
func togglePod(run *modeltest.Run) func(i int) {
	pods := modeltest.List[*corev1.Pod](run.World)
	return func(i int) {
		run.World.Change(pods[i%len(pods)], func(o plan.Object) {
			status := &o.(*corev1.Pod).Status
			if len(status.Conditions) == 0 {
				status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			}
			ready := &status.Conditions[0]
			if ready.Status == corev1.ConditionTrue {
				ready.Status = corev1.ConditionFalse
			} else {
				ready.Status = corev1.ConditionTrue
			}
			ready.LastTransitionTime = metav1.NewTime(run.Clock.Now())
		})
	}
}

// BenchmarkEvent measures one further event of a pod of a converged owner.
func BenchmarkEvent(b *testing.B) {
	for _, name := range []string{"replicaset", "statefulset", "daemonset", "job", "indexed-job", "ending-job", "ending-indexed-job", "endpointslice", "endpoints", "deployment-recreate"} {
		b.Run(name, func(b *testing.B) { modeltest.BenchmarkEvent(b, modeltest.Changing(sceneries()[name], togglePod)) })
	}
	for name, work := range events() {
		b.Run(name, func(b *testing.B) { modeltest.BenchmarkEvent(b, work) })
	}
}
