package apiserver_test

import (
	"net/url"
	"testing"
)

// FuzzExpressions puts arbitrary CEL expressions into definitions and policies: they
// are compiled or rejected, and a definition's expressions are evaluated on an object.
func FuzzExpressions(f *testing.F) {
	h := fuzzed(f)
	for _, expression := range []string{
		"self.size < 100", "self.size >= oldSelf.size", "has(self.color)", "self.ports.all(p, p.port > 0)", "object.data.k == 'v'",
		"variables.x", "request.userInfo.username.matches('(a*)*b')", "authorizer.group('').resource('pods').check('get').allowed()",
		"[1,2,3].map(x, [1,2,3].map(y, [1,2,3].map(z, x*y*z)))", "'a' * 3", "1 / 0 == 1", "9223372036854775807 + 1 > 0", "optional.none()", "self", "", "\x00", "{'a': self}.a.size == 1",
		"quantity('1Ki').isGreaterThan(quantity('1'))", "url('http://x').getHost() == ''", "cel.bind(x, x, x)", "dyn(self).x.y.z", "'\\ud800'", "((((((((((1))))))))))", "self.size.foo()",
	} {
		f.Add(expression, "'it is ' + string(self.size)")
	}
	f.Fuzz(func(t *testing.T, expression, message string) {
		rule := map[string]any{"rule": expression, "messageExpression": message}
		body := map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.example.com"},
			"spec": map[string]any{
				"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "kind": "Gadget"},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-validations": []any{rule},
					"properties": map[string]any{"size": map[string]any{"type": "integer"}},
				}}}},
			},
		}
		sound(t, h, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", asJSON(t, body))
		policy := map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": "p"},
			"spec": map[string]any{
				"validations":     []any{map[string]any{"expression": expression, "messageExpression": message}},
				"matchConditions": []any{map[string]any{"name": "c", "expression": expression}},
				"variables":       []any{map[string]any{"name": "x", "expression": message}},
				"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
					"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"*"},
				}}},
			},
		}
		sound(t, h, "POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All", asJSON(t, policy))
	})
}

// FuzzSelectors selects by arbitrary labels and fields, with every verb.
func FuzzSelectors(f *testing.F) {
	h := fuzzed(f)
	h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON(f, parseDefinition(f, widgetDefinition)))
	for _, selector := range []string{
		"a=b", "a==b,c!=d", "a in (b,c),d notin (e)", "!a", "a", "a>1,b<2", "a in ()", "a in (", ",", "a=,b", "=", "a/b/c=d", "metadata.name=a", "metadata.name!=a,metadata.namespace=default",
		"spec.color=red", "reason=\\,", "\\", "a=b\x00", "type=Normal,involvedObject.kind=Pod", "x in (a\\,b)",
	} {
		f.Add(selector, selector)
	}
	f.Fuzz(func(t *testing.T, label, field string) {
		query := "?" + url.Values{"labelSelector": {label}, "fieldSelector": {field}}.Encode()
		for _, path := range []string{mapsPath, "/api/v1/pods", "/api/v1/events", "/apis/events.k8s.io/v1/events", "/apis/example.com/v1/widgets"} {
			sound(t, h, "GET", path+query, "")
		}
		sound(t, h, "DELETE", mapsPath+query+"&dryRun=All", "")
		review := map[string]any{"spec": map[string]any{"user": "u", "resourceAttributes": map[string]any{
			"resource": "pods", "verb": "list", "labelSelector": map[string]any{"rawSelector": label}, "fieldSelector": map[string]any{"rawSelector": field},
		}}}
		sound(t, h, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", asJSON(t, review))
	})
}
