package requests

import (
	"fmt"

	"minikcm.dev/minikcm/test/wire/exchange"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// customs are definitions whose objects get the same requests as objects of built-in kinds.
var customs = []struct {
	kind       Kind
	definition string
	object     string
}{
	{
		Kind{Group: "wire.example.com", Version: "v1", Resource: "gadgets", Kind: "Gadget", Namespaced: true},
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.wire.example.com"},"spec":{"group":"wire.example.com","scope":"Namespaced",
		"names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","shortNames":["gd"],"categories":["all"]},
		"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
		"additionalPrinterColumns":[{"name":"Size","type":"string","jsonPath":".spec.size"},{"name":"Replicas","type":"integer","jsonPath":".spec.replicas","priority":1},{"name":"Since","type":"date","jsonPath":".metadata.creationTimestamp"}],
		"selectableFields":[{"jsonPath":".spec.size"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["size"],"x-kubernetes-validations":[{"rule":"self.size != 'bad'","message":"not bad"}],"properties":{"size":{"type":"string","maxLength":10,"default":"m"},"color":{"type":"string","enum":["red","blue"]},
		"replicas":{"type":"integer","minimum":0,"default":1},"ratio":{"type":"number","maximum":1},"on":{"type":"boolean"},"port":{"x-kubernetes-int-or-string":true},"tags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
		"parts":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"n":{"type":"integer"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]},
		"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"at":{"type":"string","format":"date-time"},"labels":{"type":"object","additionalProperties":{"type":"string"}},"nothing":{"type":"string","nullable":true}}},
		"status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"},"phase":{"type":"string"}}}}}}}]}}`,
		`{"apiVersion":"wire.example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"wire"},"spec":{"size":"l","color":"red","tags":["a","b"],"parts":[{"name":"p","n":1}],"any":{"x":{"y":1}},"port":80,"labels":{"a":"b"},"nothing":null}}`,
	},
	{
		Kind{Group: "wire.example.com", Version: "v1", Resource: "bowls", Kind: "Bowl"},
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"bowls.wire.example.com"},"spec":{"group":"wire.example.com","scope":"Cluster","names":{"plural":"bowls","kind":"Bowl"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
		{"name":"v1beta1","served":true,"storage":false,"deprecated":true,"deprecationWarning":"use v1","schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
		{"name":"v1alpha1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
		`{"apiVersion":"wire.example.com/v1","kind":"Bowl","metadata":{"name":"b"},"anything":{"goes":[1,2,{"three":3.5}]}}`,
	},
	{
		Kind{Group: "wire.example.com", Version: "v1beta1", Resource: "bowls", Kind: "Bowl"},
		"",
		`{"apiVersion":"wire.example.com/v1beta1","kind":"Bowl","metadata":{"name":"old"},"spec":1}`,
	},
	{
		Kind{Group: "wire.example.com", Version: "v1", Resource: "strict", Kind: "Strict", Namespaced: true},
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"strict.wire.example.com"},"spec":{"group":"wire.example.com","scope":"Namespaced","names":{"plural":"strict","kind":"Strict","listKind":"StrictItems"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","properties":{"template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},"a":{"type":"string","pattern":"^[a-z]+$"},"list":{"type":"array","maxItems":2,"items":{"type":"integer"}}},"oneOf":[{"required":["a"]},{"required":["list"]}]}}}}}]}}`,
		`{"apiVersion":"wire.example.com/v1","kind":"Strict","metadata":{"name":"s","namespace":"wire"},"spec":{"a":"abc","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}}}`,
	},
}

// custom defines kinds, uses their objects, and removes the definitions.
func custom() (cases []exchange.Case) {
	define := exchange.Case{Name: "custom/define"}
	remove := exchange.Case{Name: "custom/remove"}
	for i := range customs {
		c := &customs[i]
		if c.definition != "" {
			define.Add(post(c.kind.Resource, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", c.definition))
			// The resource is served some time after its definition is created: wait for that.
			define.Add(exchange.Request{Name: "wait for " + c.kind.Resource, Method: "GET", Path: c.kind.All(), Until: 200, Setup: true})
			define.Add(get("openapi after "+c.kind.Resource, "/apis/wire.example.com/v1"))
			remove.Add(del(c.kind.Resource, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+c.kind.Resource+".wire.example.com", ""))
		}
	}
	cases = append(cases, define)
	for i := range customs {
		k := customs[i].kind
		k.Verbs = []string{"create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"}
		m := Manifest{Name: k.Resource, Object: parsed(customs[i].object)}
		k.Manifests = []Manifest{m}
		if k.Resource == "gadgets" {
			verbs := []string{"get", "update", "patch"}
			k.Subresources = []Subresource{{Name: "status", Kind: "Gadget", Verbs: verbs}, {Name: "scale", Kind: "Scale", Verbs: verbs}}
		}
		cases = append(cases, k.all(nil)...)
		cases = append(cases, k.watches(m))
	}
	cases = append(cases, customMistakes())
	return append(cases, remove)
}

// customMistakes creates objects that the schema of gadgets refuses.
func customMistakes() exchange.Case {
	c := exchange.Case{Name: "custom/schema mistakes"}
	const path = "/apis/wire.example.com/v1/namespaces/wire/gadgets?dryRun=All"
	for _, spec := range []string{
		`{}`, `null`, `"x"`, `[]`, `{"size":1}`, `{"size":null}`, `{"size":"much too long"}`, `{"size":"bad"}`, `{"color":"green"}`, `{"replicas":-1}`, `{"replicas":"1"}`, `{"replicas":1.5}`, `{"replicas":1.0}`, `{"ratio":2}`, `{"ratio":"x"}`, `{"ratio":0.5}`, `{"on":"true"}`,
		`{"port":"http"}`, `{"port":1.5}`, `{"port":true}`, `{"tags":["a","a"]}`, `{"tags":[1]}`, `{"tags":"a"}`, `{"parts":[{"name":"a"},{"name":"a"}]}`, `{"parts":[{}]}`, `{"parts":[{"name":"a","x":1}]}`, `{"any":1}`, `{"any":{"deep":[{"x":null}]}}`, `{"at":"2020-01-01"}`, `{"at":"2020-01-01T00:00:00Z"}`,
		`{"labels":{"a":1}}`, `{"nothing":null}`, `{"color":null}`, `{"unknown":1}`, `{"size":"l","color":"green","replicas":-1,"tags":["a","a"]}`, `{"replicas":9223372036854775808}`,
	} {
		for _, mode := range []string{"", "&fieldValidation=Strict"} {
			c.Add(post(spec+mode, path+mode, `{"apiVersion":"wire.example.com/v1","kind":"Gadget","metadata":{"name":"x"},"spec":`+spec+`}`))
		}
	}
	return c
}
