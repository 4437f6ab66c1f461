package servers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// container is a container whose servers are described.
func container() (*corev1.Pod, *corev1.Container) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName = "node-1"
	pod.Spec.Containers = []corev1.Container{{
		Name: "app", Image: "shop:1", Args: []string{"serve", "--http-port=8083", "-udp", "9000"}, Env: []corev1.EnvVar{{Name: "GREETING", Value: "hello"}},
		Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}, VolumeMounts: []corev1.VolumeMount{{MountPath: "/etc/shop"}},
	}}
	return pod, &pod.Spec.Containers[0]
}

// ask returns the answer of a description to a request, as a line for each part.
func ask(t *testing.T, description string, r *servers.Request) string {
	t.Helper()
	pod, c := container()
	d, err := servers.Parse(description)
	if err != nil {
		t.Fatal(err)
	}
	l := d.Listener(pod, c, 80, corev1.ProtocolTCP)
	if l == nil {
		return "refused"
	}
	in := &servers.Input{
		Request: r, Container: servers.ContainerOf(pod, c), Pod: servers.PodOf(pod), Now: time.Unix(100, 0), State: d.State,
		Calls: map[string]*servers.Reply{"back": {Status: 503, Body: "{\"n\": 1}", Headers: map[string]string{"x": "y"}}},
		Run:   &servers.Output{Output: "done", Code: 3},
		Read: func(name string) (string, error) {
			if name == "/etc/ready" {
				return "yes\n", nil
			}
			return "", fmt.Errorf("open %s: no such file or directory", name)
		},
	}
	in.Container.StartedAt = time.Unix(40, 0)
	route, status, err := l.Find(in)
	if err != nil {
		return "error " + err.Error()
	}
	if route == nil {
		return fmt.Sprint(status)
	}
	if in.State, err = route.Set(in); err != nil {
		return "error " + err.Error()
	}
	a, err := l.Answer(route, in)
	if err != nil {
		return "error " + err.Error()
	}
	text := fmt.Sprint(max(a.Status, 200))
	for _, h := range a.Headers {
		text += " " + h.Name + "=" + h.Value
	}
	return text + " " + a.Body
}

// get returns a request.
func get(path string) *servers.Request {
	path, query, _ := strings.Cut(path, "?")
	r := &servers.Request{Method: "GET", Path: path, URI: path, Host: "web:80", Peer: "10.0.0.9", Headers: map[string]string{"user-agent": "test", "x-canary": "yes"}, HeaderLists: map[string][]string{"x-b": {"1", "2"}, "x-a": {"3"}}, Proto: "HTTP/1.1", Query: map[string]string{}, Number: 7}
	for _, pair := range strings.Split(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			r.Query[name] = value
		}
	}
	return r
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ routes, path, want string }{
		{"{body: hi}", "/any/where", "200 hi"},
		{"{path: /, body: hi}", "/other", "404"},
		{"{path: /a, method: POST, body: hi}", "/a", "405"},
		{"{path: /a, method: [POST, get], body: hi}", "/a", "200 hi"},
		{"{path: '/users/{id}/x', body: 'user ${request.vars.id}'}", "/users/7/x", "200 user 7"},
		{"{path: '/users/{id}', body: 'user ${request.vars.id}'}", "/users/", "404"},
		{"{path: '/api/*', body: '${request.path}'}", "/api/v1/x", "200 /api/v1/x"},
		{"{path: '/api/*', body: x}", "/api", "404"},
		{"{path: '/api/v*', body: x}", "/api/v1/y", "200 x"},
		{"{path: '/a/{b}/*', body: '${request.vars.b}'}", "/a/q/r/s", "200 q"},
		{"{path: '*', body: x}", "/", "200 x"},
		{"{query: {v: '2'}, body: two}, {body: other}", "/?v=2", "200 two"},
		{"{query: {v: '2'}, body: two}, {body: other}", "/?v=3", "200 other"},
		{"{query: {v: '*'}, body: some}, {body: none}", "/?w=3", "200 none"},
		{"{requestHeaders: {X-Canary: 'y*'}, body: canary}", "/", "200 canary"},
		{"{if: 'request.query[?\"v\"].orValue(\"\") == \"\"', body: none}", "/", "200 none"},
		{"{if: '${now - container.startedAt > duration(\"50s\")}', status: 503, body: old}", "/", "503 old"},
		{"{if: 'request.number > 7', body: many}, {body: few}", "/", "200 few"},
		{"{if: 'request.nope', body: x}", "/", "compiling"},
		{"{if: 'request.query.v == \"1\"', body: x}", "/", "error the condition of a route: evaluating \"request.query.v == \\\"1\\\"\": no such key: v"},
		{"{body: '${pod.name} ${pod.namespace} ${pod.node} ${pod.labels.app} ${container.env.GREETING} ${container.image}'}", "/", "200 web-0 shop node-1 web hello shop:1"},
		{"{body: '${container.args.flag(\"http-port\", \"1\")} ${container.args.flag(\"udp\", \"1\")} ${container.args.flag(\"x\", \"1\")}'}", "/", "200 8083 9000 1"},
		{"{body: '$${x} $ {y} $z'}", "/", "200 ${x} $ {y} $z"},
		{"{body: '${\"}\" + string({\"a\": 1}.a)}!'}", "/", "200 }1!"},
		{"{status: '${calls.back.status}', body: '${parseJSON(calls.back.body).n} ${calls.back.headers.x} ${calls.back.error}'}", "/", "503 1 y "},
		{"{status: '${calls.other.status}'}", "/", "error evaluating \"calls.other.status\": no such key: other"},
		{"{status: '${run.code}'}", "/", "error \"3\" is not a number from 200 to 599"},
		{"{body: '${file(\"/etc/ready\")}${exists(\"/etc/ready\")} ${exists(\"/etc/x\")}'}", "/", "200 yes\ntrue false"},
		{"{body: '${file(\"/etc/x\")}'}", "/", "no such file or directory"},
		{"{set: {hits: '${state.hits + 1}', last: '${request.path}'}, body: '${state.hits} ${state.last}'}", "/q", "200 6 /q"},
		{"{json: {name: '${pod.name}', port: 80, ok: true, none: null, list: [1, '${[1, 2]}'], 'q\"': '<${1 + 1}>'}}", "/", `200 Content-Type=application/json {"name":"web-0","port":80,"ok":true,"none":null,"list":[1,[1,2]],"q\"":"<2>"}`},
		{"{body: '${request.query.transformList(k, v, k + v).join(\",\")}'}", "/?d=1&c=2&b=3&a=4&e=5", "200 a4,b3,c2,d1,e5"},
		{"{body: '${request.headerLists.transformMapEntry(n, v, {headerName(n): v}).map(n, n)} ${request.headerLists[\"x-b\"][1]} ${request.proto}'}", "/", "200 [\"X-A\",\"X-B\"] 2 HTTP/1.1"},
		{"{body: '${request.path.split(\"/\").filter(p, p != \"\")[?1].orValue(\"none\")}'}", "/a/b", "200 b"},
		{"{headers: '${{\"x-\" + request.method: \"1\", \"Vary\": [\"a\", \"b\"]}}', body: hi}", "/", "200 Vary=a Vary=b x-GET=1 hi"},
		{"{headers: '${[1]}', body: hi}", "/", "gives list(int) in place of a map of headers"},
		{"{body: '${has(request.query.a)} ${has(request.query.b)} ${\"a\" in request.query} ${request.query.size()} ${headerName(\"user-agent\")}'}", "/?a=1", "200 true false true 1 User-Agent"},
		{"{json: '${request.query}'}", "/?b=1&a=2", `200 Content-Type=application/json {"a":"2","b":"1"}`},
		{"{headers: {X-A: '${request.peer}', Server: own}, body: x}", "/", "200 X-A=10.0.0.9 Server=own x"},
		{"{headers: {Set-Cookie: [a, b]}, body: x}", "/", "200 Server=shop Set-Cookie=a Set-Cookie=b x"},
		{"{headers: {X-A: \"a\\r\\nb\"}, body: x}", "/", "200 Server=shop X-A=a b x"},
	} {
		d := "state: {hits: 5}\nlisten:\n- port: 80\n  headers: {Server: shop}\n  routes: [" + tt.routes + "]\n"
		if _, err := servers.Parse(d); err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.routes, err)
			}
			continue
		}
		got := strings.TrimSuffix(strings.Replace(ask(t, d, get(tt.path)), " Server=shop", "", 1), "\n")
		want := strings.Replace(tt.want, " Server=shop", "", 1)
		if got != want && !(strings.HasPrefix(got, "error") && strings.Contains(got, want)) {
			t.Errorf("%s: GET %s: %q, want %q", tt.routes, tt.path, got, want)
		}
	}
}

// What costs too much, or is too large, is an error of the request.
func TestBudgets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 8000)
	for routes, want := range map[string]string{
		"{body: '${[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, [1,2,3,4,5,6,7,8,9,10].map(f, a))))))}'}": "cost",
		"{body: '${\"a\".replace(\"\", \"" + long[:3000] + "\").replace(\"\", \"" + long[:4000] + "\")}'}":                                                                                                         "",
		"{set: {a: '${\"" + long + "\".replace(\"x\", \"0123456789\")}'}}":                                                                                                                                         "the state has more than",
		"{body: '" + strings.Repeat("${request.body}", 20) + "'}":                                                                                                                                                  "a text has more than",
	} {
		r := get("/")
		r.Body = strings.Repeat("b", 100_000)
		if got := ask(t, "listen: [{port: 80, routes: ["+routes+"]}]", r); !strings.HasPrefix(got, "error") || !strings.Contains(got, want) {
			t.Errorf("%.60s: %.200q, want %q", routes, got, want)
		}
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	pod, c := container()
	d, err := servers.Parse(`
complete: ${!container.mounts.exists(m, m == "/etc/shop")}
listen:
- port: web
- port: ${container.args.flag("http-port", "8090")},8084
  tls: {certificate: '${container.mounts[0]}/tls.crt', key: /key}
- {port: '${container.args.flag("udp", "1")}', protocol: UDP, mode: echo}
- port: ${pod.labels.nope}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Complete(pod, c); got != servers.Incomplete {
		t.Errorf("complete: %s", got)
	}
	for port, want := range map[int32]bool{8080: true, 8083: true, 8084: true, 9000: false, 80: false} {
		if got := d.Listener(pod, c, port, corev1.ProtocolTCP) != nil; got != want {
			t.Errorf("%d: %v", port, got)
		}
	}
	if tls := d.Listener(pod, c, 8084, corev1.ProtocolTCP).TLS(pod, c); tls == nil || tls.Certificate != "/etc/shop/tls.crt" || tls.Key != "/key" {
		t.Errorf("tls: %+v", tls)
	}
	if l := d.Listener(pod, c, 9000, corev1.ProtocolUDP); l == nil || l.Mode != servers.Echo {
		t.Errorf("9000/UDP: %+v", l)
	}
}

// Answers on which a probe can rely without a request.
func TestConstant(t *testing.T) {
	t.Parallel()
	for routes, want := range map[string]int{
		"{path: /healthz, body: '${pod.name}'}":                          200,
		"{path: /x, status: 200}":                                        404,
		"{path: /healthz, method: POST}":                                 404,
		"{path: /healthz, status: 503}":                                  503,
		"{path: /healthz, unknown: true}":                                200,
		"{path: /healthz, status: '${1 + 200}'}":                         0,
		"{path: /healthz, delay: 1s}":                                    0,
		"{path: /healthz, log: x}":                                       0,
		"{if: 'request.number > 3', status: 503}, {status: 200}":         0,
		"{requestHeaders: {User-Agent: 'kube-probe*'}, status: 204}":     204,
		"{path: /healthz}, {path: /other, if: 'now > now', status: 503}": 200,
		"{path: /healthz}, {path: /n, body: '${request.number}'}":        0,
		"{path: /healthz, files: /srv}":                                  0,
		"{path: /healthz, set: {a: 1}}":                                  0,
		"{path: /healthz, run: {script: 'exit 1'}}":                      0,
		"{path: /healthz, calls: {a: 'http://b'}}":                       0,
		"{path: /healthz, fail: hang}":                                   0,
	} {
		pod, c := container()
		d, err := servers.Parse("listen: [{port: 80, routes: [" + routes + "]}]")
		if err != nil {
			t.Errorf("%s: %v", routes, err)
			continue
		}
		got, ok := d.Listener(pod, c, 80, corev1.ProtocolTCP).Constant(servers.ProbeRequest(&corev1.HTTPGetAction{Path: "/healthz?a=b"}))
		if ok != (want != 0) || got != want && ok {
			t.Errorf("%s: %d, %v, want %d", routes, got, ok, want)
		}
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "it is empty",
		"- a":                             "line 1: it has the wrong type: a list",
		"state: []\nlisten: [{port: 80}]": "state: line 1: it has the wrong type: a list",
		"listen:\n- port: 80\n  routes:\n  - path: /\n  - status: 200\n    bdy: x\n": "listen[0].routes[1].bdy: line 6: there is no such field",
		"listen:\n- port: 80\n  routes: x\n":                                         "listen[0].routes: line 3: it has the wrong type: a text",
		"listen: [{port: 80, routes: [{json: {a: [1, '${b}']}}]}]":                   "listen[0].routes[0].json.a[1]: compiling the CEL expression \"b\"",
		"listen: [{port: 80, routes: [{run: {script: 'if'}}]}]":                      "listen[0].routes[0].run.script: it is no script of a shell: line 1, column 1: ",
		"listen: [{port: 80, routes: [{run: {command: [/bin/sh, -c, 'echo ('] }}]}]": "listen[0].routes[0].run.command[2]: it is no script of a shell: line 1, column 1: ",
		"listen: []":                                                                       "listen has no port",
		"lisen: []":                                                                        "lisen: line 1: there is no such field",
		"listen: [{port: 0}]":                                                              "listen[0].port: \"0\" is not a number from 1 to 65535",
		"listen: [{mode: http}]":                                                           "listen[0].port: it is missing",
		"listen: [{port: '${now}'}]":                                                       "undeclared reference to 'now'",
		"listen: [{port: 80, mode: smtp}]":                                                 "mode \"smtp\" is none of http, text, echo and grpc",
		"listen: [{port: 80, protocol: udp}]":                                              "protocol \"udp\" is none of",
		"listen: [{port: 80, protocol: UDP}]":                                              "needs the mode text or echo",
		"listen: [{port: 80, mode: echo, routes: [{}]}]":                                   "the mode echo has no routes",
		"listen: [{port: 80, mode: text, routes: [{path: /}]}]":                            "path, method, query and requestHeaders are for the mode http",
		"listen: [{port: 80, routes: [{line: x}]}]":                                        "line is for the mode text",
		"listen: [{port: 80, routes: [{path: x}]}]":                                        "routes[0]: \"x\" is no path",
		"listen: [{port: 80, routes: [{path: '/a*b/c'}]}]":                                 "* may only end the path",
		"listen: [{port: 80, routes: [{status: 99}]}]":                                     "status: \"99\" is not a number from 200 to 599",
		"listen: [{port: 80, routes: [{status: [1]}]}]":                                    "status: line 1: it is no text",
		"listen: [{port: 80, routes: [{delay: -1s}]}]":                                     "delay: \"-1s\" is not a duration",
		"listen: [{port: 80, routes: [{body: '${'}]}]":                                     "body: ${ has no matching }",
		"listen: [{port: 80, routes: [{body: '${a b}'}]}]":                                 "compiling the CEL expression \"a b\"",
		"listen: [{port: 80, routes: [{body: '${request.mthod}'}]}]":                       "undefined field 'mthod'",
		"listen: [{port: 80, routes: [{body: a, json: b}]}]":                               "more than one of body, json, files, fail and unknown",
		"listen: [{port: 80, routes: [{fail: maybe}]}]":                                    "fail: \"maybe\" is none of reset, close and hang",
		"listen: [{port: 80, routes: [{files: srv}]}]":                                     "no absolute path",
		"listen: [{port: 80, routes: [{headers: {'a b': c}}]}]":                            "headers.a b: it is no name of a header",
		"listen: [{port: 80, routes: [{calls: {a: {uri: x}}}]}]":                           "there is no such field",
		"listen: [{port: 80, routes: [{calls: {a: {method: x}}}]}]":                        "url: it is missing",
		"listen: [{port: 80, routes: [{calls: {a: {url: x, timeout: 0s}}}]}]":              "timeout: it is 0",
		"listen: [{port: 80, routes: [{run: {}}]}]":                                        "run: it has not one of command and script",
		"listen: [{port: 80, routes: [{exit: 256}]}]":                                      "exit: \"256\" is not a number from 0 to 255",
		"listen: [{port: 80, routes: [{if: '1 + 1'}]}]":                                    "listen[0].routes[0].if: the CEL expression \"1 + 1\" gives int in place of true or false",
		"listen: [{port: 80, routes: [{if: '${request.path}'}]}]":                          "listen[0].routes[0].if: the CEL expression \"request.path\" gives string in place of true or false",
		"listen: [{port: 80, routes: [{status: '${1 == 1}'}]}]":                            "listen[0].routes[0].status: the CEL expression \"1 == 1\" gives bool in place of a whole number",
		"listen: [{port: 80, routes: [{status: '${1.5}'}]}]":                               "listen[0].routes[0].status: the CEL expression \"1.5\" gives double in place of a whole number",
		"listen: [{port: 80, routes: [{delay: '${2}'}]}]":                                  "listen[0].routes[0].delay: the CEL expression \"2\" gives int in place of a duration",
		"listen: [{port: 80, routes: [{exit: '${[1]}'}]}]":                                 "listen[0].routes[0].exit: the CEL expression \"[1]\" gives list(int) in place of a whole number",
		"listen: [{port: 80, routes: [{body: 'a ${request}'}]}]":                           "listen[0].routes[0].body: the CEL expression \"request\" gives servers.Request in place of a text",
		"listen: [{port: 80, routes: [{json: {a: ['${calls}']}}]}]":                        "listen[0].routes[0].json.a[0]: the CEL expression \"calls\" gives map(string, servers.Reply) in place of a text",
		"listen: [{port: 80, routes: [{set: {a: '${pod}'}}]}]":                             "listen[0].routes[0].set.a: the CEL expression \"pod\" gives servers.Pod in place of a text",
		"listen: [{port: 80, headers: '${1}'}]":                                            "listen[0].headers: the CEL expression \"1\" gives int in place of a map of headers",
		"listen: [{port: 80, routes: [{files: '${1}'}]}]":                                  "listen[0].routes[0].files: the CEL expression \"1\" gives int in place of a text",
		"listen: [{port: 80, mode: grpc, routes: [{grpc: {code: '${true}'}}]}]":            "listen[0].routes[0].grpc: the CEL expression \"true\" gives bool in place of a code of gRPC",
		"listen: [{port: '${container.args}'}]":                                            "listen[0].port: the CEL expression \"container.args\" gives list(string) in place of a port",
		"complete: '${1}'\nlisten: [{port: 80}]":                                           "complete: the CEL expression \"1\" gives int in place of true, declared or false",
		"listen: [{port: 80, routes: [{calls: {w: 'htp:/x'}}]}]":                           "listen[0].routes[0].calls.w.url: \"htp:/x\" does not begin with http:// or https://",
		"listen: [{port: 80, routes: [{calls: {w: {url: 'ftp://${pod.ip}/x'}}}]}]":         "listen[0].routes[0].calls.w.url: \"ftp://\" does not begin with http:// or https://",
		"listen: [{port: 80, routes: [{run: {script: yes}}]}]":                             "listen[0].routes[0].run.script: \"yes\" without quotes is a value of YAML, and no script",
		"listen: [{port: 80, routes: [{run: {script: true}}]}]":                            "listen[0].routes[0].run.script: \"true\" without quotes is a value of YAML, and no script",
		"listen: [{port: 80}, {port: '81,80', mode: text}]":                                "listen[1].port: TCP 80 is that of listen[0], too",
		"listen: [{port: 'http,http'}]":                                                    "listen[0].port: TCP http is that of listen[0], too",
		"complete: maybe\nlisten: [{port: 80}]":                                            "complete: \"maybe\" is neither true, declared nor false",
		"a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40):                          "nested more than",
		"listen: [{port: 80, routes: [{body: '${" + strings.Repeat("1+", 5000) + "1}'}]}]": "more than 8192",
	} {
		if _, err := servers.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// Descriptions are accepted or refused, and what is accepted answers, whatever it is.
func FuzzParse(f *testing.F) {
	f.Add("listen: [{port: 80, routes: [{path: '/a/{b}', body: '${request.vars.b}'}]}]", "/a/c", "x")
	f.Add("state: {n: 1}\nlisten:\n- port: web\n  routes:\n  - {if: 'request.body == \"q\"', set: {n: '${state.n + 1}'}, json: {a: '${state.n}'}}", "/", "q")
	f.Add("complete: false\nlisten: [{port: 53, protocol: UDP, mode: text, routes: [{line: 'a*', body: \"${'}'}\"}]}]", "", "ab")
	f.Fuzz(func(t *testing.T, text, path, body string) {
		d, err := servers.Parse(text)
		if err != nil {
			return
		}
		pod, c := container()
		d.Complete(pod, c)
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			l := d.Listener(pod, c, 80, protocol)
			if l == nil {
				continue
			}
			r := get(path)
			r.Body = body
			in := &servers.Input{Request: r, Container: servers.ContainerOf(pod, c), Pod: servers.PodOf(pod), State: d.State}
			l.Constant(r)
			if route, _, err := l.Find(in); err == nil && route != nil {
				if in.State, err = route.Set(in); err == nil {
					if a, err := l.Answer(route, in); err == nil && a.Status != 0 && (a.Status < 200 || a.Status > 599) {
						t.Errorf("status %d", a.Status)
					}
				}
			}
		}
	})
}
