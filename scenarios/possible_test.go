package scenarios

import (
	"strings"
	"testing"
)

// Fields that the API does not have are found before anything starts, each with its line
// and a hint.
func TestFieldsOfObjects(t *testing.T) {
	t.Parallel()
	const crd = `
    - apply:
        objects:
          - apiVersion: apiextensions.k8s.io/v1
            kind: CustomResourceDefinition
            metadata: {name: sites.example.com}
            spec:
              group: example.com
              scope: Namespaced
              names: {kind: Site, plural: sites}
              versions:
                - name: v1
                  served: true
                  storage: true
                  schema:
                    openAPIV3Schema:
                      type: object
                      properties:
                        spec: {type: object, properties: {hosts: {type: array, items: {type: object, properties: {name: {type: string}}}}}}
                        status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
	for name, test := range map[string]struct{ steps, want string }{
		"typo in a list": {`
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec:
              template:
                spec:
                  containers:
                    - name: web
                      imag: nginx`, "scenario.yaml:17: deployment/web: spec.template.spec.containers[0].imag: is not a field of this kind: did you mean image?"},
		"wrong place": {`
    - create:
        objects:
          - {apiVersion: v1, kind: Pod, metadata: {name: a}, replicas: 3}`, "scenario.yaml:9: pod/a: replicas: is not a field of this kind"},
		"capital": {`
    - create: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {NodeName: b}}]}`, "scenario.yaml:7: pod/a: spec.NodeName: is not a field of this kind: did you mean nodeName?"},
		"wrong type": {`
    - create: {objects: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: many}}]}`, "scenario.yaml:7: deployment/a: spec.replicas: is a string, wanted a whole number"},
		"expectation": {`
    - expect: {objects: [{apiVersion: apps/v1, kind: Deployment, status: {redyReplicas: 3}}]}`, "scenario.yaml:7: any Deployment: status.redyReplicas: is not a field of this kind: did you mean readyReplicas?"},
		"custom": {crd + `
    - apply: {objects: [{apiVersion: example.com/v1, kind: Site, metadata: {name: a}, spec: {hosts: [{nam: b}]}}]}`, "site/a: spec.hosts[0].nam: is not a field of this kind: did you mean name?"},
		"quantity":            {"\n    - create: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, resources: {limits: {cpu: lots}}}]}}]}", "pod/a: quantities must match"},
		"in a loop":           {"\n    - repeat: {times: 2, steps: [{apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dat: {b: c}}]}}]}", "configmap/a: dat: is not a field of this kind: did you mean data?"},
		"good and partial":    {"\n    - apply: {objects: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 3, template: {metadata: {annotations: {b: c}}}}}]}", ""},
		"good custom":         {crd + "\n    - apply: {objects: [{apiVersion: example.com/v1, kind: Site, metadata: {name: a}, spec: {hosts: [{name: b}]}, status: {any: thing}}]}", ""},
		"unknown kind":        {"\n    - apply: {objects: [{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {b: c}}]}", ""},
		"meant to be refused": {"\n    - apply: {fails: unknown field, objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dada: {b: c}}]}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := Parse("scenario.yaml", []byte(header+"  steps:"+test.steps), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := Possible(found[0], OwnCluster); err != nil {
				got = err.Error()
			}
			if got != test.want && (test.want == "" || !strings.Contains(got, test.want)) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			if err := Possible(found[0], ForeignCluster); err != nil {
				t.Errorf("on another cluster, whose API may be newer: %v", err)
			}
		})
	}
}
