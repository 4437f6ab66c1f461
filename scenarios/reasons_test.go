package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/golden"
)

// web is a Deployment of three pods with one container, whose fields are given.
func web(container string) string {
	return `
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec:
              replicas: 3
              progressDeadlineSeconds: 30
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {containers: [{name: web, ` + container + `}]}`
}

const (
	ready    = `{target: pods, selector: app=web, where: {status: {conditions: [{type: Ready, status: "True"}]}}, equals: 3}`
	tainted  = "\n  cluster: {nodes: 3}\n  steps:\n    - fault: {nodes: {action: taint, names: [node-0], taint: 'a=b:NoSchedule'}}"
	anywhere = "\n  cluster: {nodes: 3}\n  steps:"
)

// failing are scenarios whose checks fail for reasons that the API shows.
var failing = map[string]string{
	"unschedulable": tainted + web(`image: nginx, resources: {requests: {cpu: "1000"}}`) + `
    - expect: {within: 1m, counts: [` + ready + `]}`,
	"quota": anywhere + `
    - apply: {objects: [{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {pods: "0"}}}]}` + web("image: nginx") + `
    - wait: {target: pods, selector: app=web, for: count=3, within: 1m}`,
	"refused by a policy": anywhere + `
    - apply:
        objects:
          - apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata: {name: team}
            spec:
              matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
              validations: [{expression: "has(object.metadata.labels.team)", message: "every pod needs a team"}]
          - apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata: {name: team}
            spec: {policyName: team, validationActions: [Deny]}
    - sleep: 1s` + web("image: nginx") + `
    - expect: {within: 1m, counts: [` + ready + `]}`,
	"image and deadline": anywhere + web("image: nginx") + `
    - wait: {target: deployment/web, for: rollout, within: 1m}
    - patch: {target: deployment/web, patch: {spec: {template: {metadata: {annotations: {minikcm.dev/pull-error: manifest unknown}}, spec: {containers: [{name: web, image: "nginx:oops"}]}}}}}
    - wait: {target: deployment/web, for: rollout, within: 2m}`,
	"crash loop": anywhere + web(`image: busybox, command: [sh, -c, "exit 3"]`) + `
    - wait: {target: deployment/web, for: condition=Available, within: 1m}`,
	"one of many": anywhere + web("image: nginx") + `
    - apply: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: odd, namespace: default, labels: {app: web}}, spec: {containers: [{name: c, image: busybox, command: [sh, -c, "exit 3"]}]}}]}
    - expect: {within: 30s, given: {pods: {target: pods}}, cel: ['pods.size() > 3 && pods.all(p, p.status.conditions.exists(c, c.type == "Ready" && c.status == "True"))']}`,
	"guarded": anywhere + web("image: nginx") + `
    - apply: {objects: [{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}}]}
    - wait: {target: deployment/web, for: rollout, within: 1m}
    - expect: {within: 10s, counts: [{target: pods, selector: app=web, max: 2}]}`,
	"never": "\n  cluster: {nodes: 3}\n  invariants:\n    - {name: no large shop, never: {counts: [{target: pods, selector: app=web, min: 5}]}}\n  steps:" + web(`image: nginx, resources: {requests: {cpu: 100m}}`) + `
    - apply: {objects: [{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: default}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}]}
    - wait: {target: deployment/web, for: rollout, within: 1m}
    - patch: {target: deployment/web, patch: {metadata: {annotations: {minikcm.dev/load-cpu: "0.4"}}}}
    - sleep: 10m`,
	"too many": anywhere + web("image: nginx") + `
    - wait: {target: deployment/web, for: rollout, within: 1m}
    - patch: {target: deployment/web, patch: {spec: {replicas: 5}}}
    - wait: {target: deployment/web, for: rollout, within: 1m}
    - expect: {within: 30s, counts: [{target: pods, selector: app=web, equals: 3}]}`,
	"no room": anywhere + `
    - apply: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: large, namespace: kube-system}, spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: "20"}}}]}}]}` + web(`image: nginx, resources: {requests: {cpu: "20"}}`) + `
    - expect: {within: 1m, counts: [` + ready + `]}`,
	"few by a filter": anywhere + web("image: nginx") + `
    - wait: {target: deployment/web, for: rollout, within: 1m}
    - expect: {given: {pods: {target: pods}}, cel: ['pods.filter(p, p.spec.nodeName != "node-0").size() >= 3']}`,
	"job": anywhere + `
    - apply: {objects: [{apiVersion: batch/v1, kind: Job, metadata: {name: hopeless, namespace: default}, spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sh, -c, "exit 3"]}]}}}}]}
    - wait: {target: job/hopeless, for: condition=Complete, within: 5m}`,
	"claim": anywhere + `
    - apply: {objects: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}
    - wait: {target: pvc/data, for: "jsonpath={.status.phase}=Bound", within: 1m}`,
	"namespace": anywhere + `
    - apply: {objects: [{apiVersion: v1, kind: Namespace, metadata: {name: shop}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: shop, finalizers: [example.com/hold]}}]}
    - delete: {target: namespace/shop}
    - wait: {target: namespace/shop, for: delete, within: 1m}`,
	"invariant": "\n  cluster: {nodes: 3}\n  invariants: [{name: three serve, eventually: {within: 1m, counts: [" + ready + "]}}]\n  steps:" + web(`image: nginx, resources: {requests: {cpu: "1000"}}`) + `
    - sleep: 5m`,
	"without etcd": anywhere + web(`image: nginx, resources: {requests: {cpu: "1000"}}`) + `
    - background: true
      expect: {within: 1m, counts: [` + ready + `]}
    - sleep: 10s
    - fault: {etcd: {action: unavailable}}
    - sleep: 5m`,
}

// The error of a failed check begins with the reasons that the API shows.
func TestReasons(t *testing.T) {
	t.Parallel()
	names := make([]string, 0, len(failing))
	texts := map[string]*string{}
	for name := range failing {
		names = append(names, name)
		texts[name] = new(string)
	}
	slices.Sort(names)
	t.Run("scenarios", func(t *testing.T) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				result, _ := runScenario(t, header+failing[name]+"\n", Options{})
				if result.Failure == nil {
					t.Fatal("it passes")
				}
				*texts[name] = withoutNames(result.Failure.Error())
				if run := result.Run; len(run.Failures) == 0 || len(run.Failures[0].Reasons) == 0 && len(run.NotAsExpected) == 0 && len(run.Failures[0].Objects) == 0 {
					t.Errorf("the record has no reason: %+v", run.Failures)
				}
			})
		}
	})
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "# %s\n%s\n\n", name, *texts[name])
	}
	golden.Compare(t, "testdata/reasons.golden", out.String())
}

// On an existing cluster, the reasons come from requests to its API. Its time is real: the
// first attempt to schedule a pod may come before the scheduler has seen the node as ready,
// and then has another message, so the steps wait for the message that the test compares.
func TestReasonsElsewhere(t *testing.T) {
	t.Parallel()
	cluster, err := minikcm.Start(t.Context(), minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true}, Seed: 1, Nodes: minikcm.NodeOptions{Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, test := range []struct{ name, text, want string }{
		{
			"unschedulable", web(`image: nginx, resources: {requests: {cpu: "1000"}}`) + `
    - wait: {target: pods, selector: app=web, for: count=3, within: 1m}
    - wait:
        target: pods
        selector: app=web
        for: cel=object.status.?conditions.orValue([]).exists(c, c.type == "PodScheduled" && c.message.contains("Insufficient cpu"))
        within: 1m
    - expect: {counts: [` + ready + `]}`,
			"and 2 more: not ready because PodScheduled is False (Unschedulable): 0/1 nodes are available: 1 Insufficient cpu.",
		},
		{
			"warned", `
    - apply: {objects: [{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {pods: "0"}}}]}
    - wait: {target: resourcequota/q, for: "jsonpath={.status.hard.pods}=0", within: 1m}
    - apply: {objects: [{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default}, spec: {template: {metadata: {labels: {job: a}}, spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}]}
    - expect: {within: 1m, objects: [{apiVersion: v1, kind: Event, reason: FailedCreate, involvedObject: {kind: Job, name: a}}]}
    - expect: {counts: [{target: pods, selector: job=a, equals: 1}]}`,
			"job/a: not complete because event (FailedCreate)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, _ := runScenario(t, header+"\n  steps:"+test.text+"\n", Options{Config: cluster.Config()})
			if result.Failure == nil || !strings.Contains(result.Failure.Error(), test.want) {
				t.Errorf("got %v, want %s", result.Failure, test.want)
			}
		})
	}
}
