package requests

import (
	"net/http"

	"minikcm.dev/minikcm/test/wire/exchange"
)

const wirePod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"conn","namespace":"wire","labels":{"app":"conn"}},"spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}],"initContainers":[{"name":"i","image":"i"}]}}`

// connections asks for what needs a node, of pods that have none and of nodes that do not exist.
func connections() exchange.Case {
	c := exchange.Case{Name: "connections"}
	const pods, pod = "/api/v1/namespaces/wire/pods", "/api/v1/namespaces/wire/pods/conn"
	c.Add(setup(post("create", pods, wirePod)))
	logs := []string{
		"", "container=a", "container=i", "container=x", "container=", "container=a&tailLines=-1", "container=a&tailLines=x", "container=a&limitBytes=0", "container=a&sinceSeconds=0", "container=a&sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
		"container=a&sinceTime=x", "container=a&previous=x", "container=a&follow=x", "container=a&follow=TRUE", "container=a&stream=Stdout", "container=a&stream=x", "container=a&tailLines=1&stream=Stderr", "container=a&timestamps=1", "container=a&insecureSkipTLSVerifyBackend=true", "container=a&unknown=1",
	}
	for _, query := range logs {
		c.Add(get("log "+query, pod+"/log?"+query))
		c.Add(get("log of no pod "+query, pods+"/missing/log?"+query))
	}
	for _, a := range accepts {
		c.Add(getAs("log as "+a.name, pod+"/log?container=a", a.accept))
	}
	for _, sub := range []string{"exec", "attach", "portforward"} {
		for _, query := range []string{"", "container=a", "container=x", "container=a&command=ls", "container=a&command=ls&stdout=true", "container=a&stdin=true&stdout=true&tty=true", "container=a&command=ls&stdout=x", "ports=80", "ports=x", "ports=70000", "command=ls&stdout=true"} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				c.Add(exchange.Request{Name: method + " " + sub + " " + query, Method: method, Path: pod + "/" + sub + "?" + query})
			}
			c.Add(get(sub+" of no pod "+query, pods+"/missing/"+sub+"?"+query))
		}
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions} {
			c.Add(exchange.Request{Name: method + " " + sub, Method: method, Path: pod + "/" + sub})
		}
	}
	service := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"%s"},"spec":{%s"ports":[{"name":"web","port":80},{"name":"tls","port":443,"protocol":"TCP"}]}}`
	c.Add(setup(post("create service", "/api/v1/namespaces/wire/services", sprintf(service, "conn", `"selector":{"app":"conn"},`))))
	c.Add(setup(post("create headless service", "/api/v1/namespaces/wire/services", sprintf(service, "conn-headless", `"clusterIP":"None","selector":{"app":"x"},`))))
	c.Add(setup(post("create service without a selector", "/api/v1/namespaces/wire/services", sprintf(service, "conn-none", ""))))
	c.Add(setup(post("create external service", "/api/v1/namespaces/wire/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"conn-out"},"spec":{"type":"ExternalName","externalName":"example.com"}}`)))
	c.Add(setup(post("create node", "/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"conn"}}`)))
	for _, target := range []string{
		"/api/v1/namespaces/wire/pods/conn", "/api/v1/namespaces/wire/pods/conn:80", "/api/v1/namespaces/wire/pods/http:conn:80", "/api/v1/namespaces/wire/pods/https:conn:443", "/api/v1/namespaces/wire/pods/ftp:conn:80", "/api/v1/namespaces/wire/pods/conn:x", "/api/v1/namespaces/wire/pods/missing",
		"/api/v1/namespaces/wire/services/conn", "/api/v1/namespaces/wire/services/conn:80", "/api/v1/namespaces/wire/services/conn:web", "/api/v1/namespaces/wire/services/conn:x", "/api/v1/namespaces/wire/services/https:conn:tls", "/api/v1/namespaces/wire/services/conn-headless:web", "/api/v1/namespaces/wire/services/conn-none:web", "/api/v1/namespaces/wire/services/conn-out", "/api/v1/namespaces/wire/services/missing", "/api/v1/namespaces/missing/services/missing", "/api/v1/namespaces/wire/services/a:b:c:d",
		"/api/v1/nodes/conn", "/api/v1/nodes/conn:10250", "/api/v1/nodes/https:conn:10250", "/api/v1/nodes/missing", "/api/v1/nodes/a:b:c:d",
	} {
		for _, rest := range []string{"/proxy", "/proxy/", "/proxy/x/y?a=b"} {
			c.Add(get(target+rest, target+rest))
		}
		c.Add(exchange.Request{Name: "POST " + target, Method: "POST", Path: target + "/proxy/", Header: jsonBody, Body: "{}"})
		c.Add(exchange.Request{Name: "HEAD " + target, Method: "HEAD", Path: target + "/proxy/"})
	}
	for _, object := range []string{"pods/conn", "services/conn", "services/conn-headless", "services/conn-none", "services/conn-out"} {
		c.Add(setup(del("delete "+object, "/api/v1/namespaces/wire/"+object+"?gracePeriodSeconds=0", "")))
	}
	c.Add(setup(del("delete node", "/api/v1/nodes/conn", "")))
	return c
}

// bindings binds and evicts pods, and asks for tokens.
func bindings() exchange.Case {
	c := exchange.Case{Name: "bindings"}
	const pods, pod = "/api/v1/namespaces/wire/pods", "/api/v1/namespaces/wire/pods/conn"
	for _, b := range []struct{ name, body string }{
		{"no target", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn"}}`},
		{"another kind of target", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn"},"target":{"kind":"Pod","name":"n"}}`},
		{"another name", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"other"},"target":{"kind":"Node","name":"n"}}`},
		{"another UID", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn","uid":"00000000-0000-0000-0000-000000000000"},"target":{"kind":"Node","name":"n"}}`},
		{"another version", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn","resourceVersion":"1"},"target":{"kind":"Node","name":"n"}}`},
		{"dry", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn","annotations":{"a":"b"}},"target":{"kind":"Node","name":"n"}}`},
		{"bind", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn","annotations":{"a":"b"},"labels":{"l":"m"}},"target":{"kind":"Node","name":"n"}}`},
		{"bind again", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn"},"target":{"kind":"Node","name":"n"}}`},
		{"bind elsewhere", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"conn"},"target":{"kind":"Node","name":"m"}}`},
	} {
		query := ""
		if b.name == "dry" {
			query = "?dryRun=All"
		}
		c.Add(setup(post("create for "+b.name, pods, wirePod)))
		c.Add(post(b.name, pod+"/binding"+query, b.body))
		c.Add(get("after "+b.name, pod))
		c.Add(post(b.name+" by the old path", "/api/v1/namespaces/wire/bindings"+query, b.body))
		if b.name != "bind" && b.name != "bind again" {
			c.Add(setup(del("delete after "+b.name, pod+"?gracePeriodSeconds=0", "")))
		}
	}
	for _, e := range []struct{ name, body string }{
		{"wrong kind", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"conn"}}`},
		{"v1beta1", `{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"conn"}}`},
		{"another name", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"other"}}`},
		{"no name", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{}}`},
		{"dry", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"conn"},"deleteOptions":{"dryRun":["All"]}}`},
		{"wrong policy", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"conn"},"deleteOptions":{"propagationPolicy":"x"}}`},
		{"another UID", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"conn"},"deleteOptions":{"preconditions":{"uid":"x"}}}`},
		{"evict", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"conn"}}`},
		{"evict what does not exist", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"conn"}}`},
	} {
		if e.name != "evict what does not exist" {
			c.Add(setup(post("create for eviction "+e.name, pods, wirePod)))
		}
		c.Add(post("eviction "+e.name, pod+"/eviction", e.body))
		c.Add(get("after eviction "+e.name, pod))
	}
	c.Add(setup(del("clean up", pod+"?gracePeriodSeconds=0", "")))
	tokens(&c)
	return c
}

func tokens(c *exchange.Case) {
	const accounts = "/api/v1/namespaces/wire/serviceaccounts/"
	for _, t := range []struct{ name, body string }{
		{"empty", `{}`},
		{"plain", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`},
		{"an audience", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["a","b"],"expirationSeconds":3600}}`},
		{"short", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":1}}`},
		{"long", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":4294967297}}`},
		{"too long", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":9294967297}}`},
		{"bound to no pod", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"none"}}}`},
		{"bound to an unknown kind", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"none"}}}`},
		{"bound to no secret", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"none"}}}`},
		{"bound to no node", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"none"}}}`},
		{"another kind", `{"apiVersion":"v1","kind":"Pod"}`},
		{"a name", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"name":"default","namespace":"wire"},"spec":{}}`},
		{"another name", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"name":"other"},"spec":{}}`},
		{"another namespace", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"namespace":"other"},"spec":{}}`},
		{"unknown field", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"x":1}}`},
	} {
		c.Add(post("token "+t.name, accounts+"default/token", t.body))
		c.Add(post("token dry "+t.name, accounts+"default/token?dryRun=All", t.body))
		c.Add(post("token of no account "+t.name, accounts+"missing/token", t.body))
	}
	c.Add(post("token strict", accounts+"default/token?fieldValidation=Strict", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"x":1}}`))
	c.Add(exchange.Request{Name: "token as protobuf", Method: "POST", Path: accounts + "default/token", Header: map[string]string{"Content-Type": exchange.JSON, "Accept": exchange.Protobuf}, Body: `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`})
	c.Add(post("review a token", "/apis/authentication.k8s.io/v1/tokenreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"${token plain:status.token}"}}`))
	c.Add(post("review a token of an audience", "/apis/authentication.k8s.io/v1/tokenreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"${token an audience:status.token}","audiences":["b","c"]}}`))
	c.Add(post("review a token of another audience", "/apis/authentication.k8s.io/v1/tokenreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"${token an audience:status.token}"}}`))
	c.Add(post("review a wrong token", "/apis/authentication.k8s.io/v1/tokenreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"x"}}`))
	c.Add(post("review no token", "/apis/authentication.k8s.io/v1/tokenreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{}}`))
}
