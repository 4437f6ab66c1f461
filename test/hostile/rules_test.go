package hostile

import "maps"

// kindsOfInput are the start rules of the generated inputs. All but the last two generate requests.
// Requests are separated by requestEnd.
var kindsOfInput = []string{"body", "patch", "selector", "path", "query", "header", "cel", "manifest", "schema", "script", "answer"}

// requestEnd separates the requests of one input, and the endless part of a webhook's answer.
const requestEnd = "\x00"

// rules derive hostile inputs.
var rules = join(values, requests, definitions, expressions, shellScripts, answers)

func join(parts ...grammar) grammar {
	all := grammar{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// values are parts that all inputs use.
var values = grammar{
	"x": {"x"}, "brace": {`{"a":`}, "bracket": {"["}, "close": {"]"}, "paren": {"("}, "dot": {"../"}, "percent": {"%25"}, "comma": {"a,"}, "digit": {"9"},
	"int": {"0", "-1", "1", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "1e400", "-1e400", "1e-400", "«digit*400»", "0x7f", "1.5"},
	"word": {
		"a", "", "..", "a/b", "%2e%2e", "null", "true", "default", "kube-system", "«x*64»", "«x*254»", "«x*9000»", "é\u202e", "a\\u0000b", "-", "A_b.C", "'", "$(x)", "*", "💥",
	},
	"string": {`"«word»"`, `"«x*100000»"`, `"\ud800"`, `"«word»/«word»"`, `"\u0000"`, `"«int»"`},
	"json": {
		"«string»", "«int»", "null", "true", "[]", "{}", `{"«word»":«json»}`, `[«json»,«json»]`, `{"a":«json»,"a":«json»}`,
		`{"metadata":«json»,"spec":«json»}`, "«bracket*300»«close*300»", "«bracket*20000»", "«brace*260»1", `[«string*3»]`,
	},
	"unit":     {"", "m", "k", "Ki", "E", "Ei", "n", "e99", "e-99"},
	"quantity": {`"«int»«unit»"`, `"«digit*300»"`, `"1«unit»"`, `"0.«digit*300»"`},
	"type": {
		"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json; charset=«word»", "text/plain", "application/cbor", "«word»", "multipart/form-data",
	},
}

// requests derive requests with a request line, headers, an empty line and a body.
var requests = grammar{
	"core": {"configmaps", "pods", "secrets", "services", "serviceaccounts", "endpoints", "events", "limitranges", "resourcequotas", "persistentvolumeclaims", "replicationcontrollers"},
	"name": {"h-«id»"},
	"kind": {"ConfigMap", "Pod", "Secret", "Service", "List", "Status", "Event", "«word»"},
	"meta": {
		`{"name":"«name»"}`, `{"name":«string»}`, `{"generateName":"«x*300»"}`, `{"name":"«name»","labels":{«string»:«string»}}`, `{"name":"«name»","annotations":{"a":"«x*300000»"}}`,
		`{"name":"«name»","ownerReferences":[«owner*2000»{}]}`, `{"name":"«name»","finalizers":[«string»,«string»]}`, `{"name":"«name»","managedFields":[«managed»,«managed»]}`, "«json»",
		`{"name":"«name»","creationTimestamp":«string»,"deletionTimestamp":«string»,"generation":«int»,"resourceVersion":«string»,"uid":«string»}`,
	},
	"owner":   {`{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"},`},
	"managed": {`{"manager":«string»,"operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":«json»}`, `{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":«managedset»}}`},
	"managedset": {
		"{}", `{"f:a":«managedset»}`, `{"k:{\"a\":«int»}":«managedset»}`, `{"v:«word»":«managedset»}`, `{"i:«int»":{}}`, "«json»",
	},
	"alias": {"*a,"},
	"document": {
		`{"apiVersion":"v1","kind":"«kind»","metadata":«meta»,"data":«json»}`, `{"apiVersion":"v1","kind":"«kind»","metadata":«meta»,"spec":«json»,"status":«json»}`, "«json»",
		"k8s\x00«word»\x0a\xff\xff\xff\xff\x0f", "k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\xff\xff\xff\xff\x7f«x*1000»", "{«x*3000000»", "",
		"a: &a [«comma*1000»]\nb: &b [«alias*1000»]\nmetadata: {name: «name»}\n", "? {«bracket*2000»", "- - - - «word»\n", "%YAML 9.9\n---\n!!binary «word»", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: «name»}\ndata: {<<: *undefined}\n",
	},
	"body": {"POST /api/v1/namespaces/hostile/«core»?fieldValidation=Strict\nContent-Type: «type»\n\n«document»", "POST /api/v1/namespaces/hostile/«core»\nContent-Type: «type»\n\n«document»", "PUT /api/v1/namespaces/hostile/«core»/«name»\nContent-Type: «type»\n\n«document»"},

	"step":    {"/data", "/metadata", "/data/v", "/metadata/labels/~0~1", "/«word»", "/data/«int»", "", "/a«deep*2000»", "/-"},
	"deep":    {"/a"},
	"op":      {`{"op":"copy","from":"«step»","path":"«step»"}`, `{"op":"move","from":"«step»","path":"«step»"}`, `{"op":"add","path":"«step»","value":«json»}`, `{"op":"test","path":"«step»","value":«json»}`, `{"op":"remove","path":"«step»"}`, `{"op":«json»}`},
	"copyop":  {`{"op":"copy","from":"/data","path":"/data/c«digit*5»"},`, `{"op":"copy","from":"/data/v","path":"/data/«word»"},`},
	"patched": {`[«op»,«op»,«op»]`, `[«copyop*40»«op»]`, `[«copyop*20000»«op»]`, "«json»"},
	"merge": {
		`{"data":«json»}`, `{"metadata":«meta»}`, "«json»", `{"$patch":"«directive»","data":«json»}`, `{"metadata":{"finalizers":[«string»],"$setElementOrder/finalizers":[«string»,«string»]}}`,
		`{"$retainKeys":«json»,"data":null}`, `{"$deleteFromPrimitiveList/«word»":«json»}`, `{"metadata":{"ownerReferences":[{"$patch":"«directive»","uid":«json»},{"$patch":"«directive»"}]}}`,
	},
	"directive": {"replace", "delete", "merge", "«word»"},
	"patch": {
		"«object»PATCH /api/v1/namespaces/hostile/configmaps/«name»\nContent-Type: application/json-patch+json\n\n«patched»",
		"«object»PATCH /api/v1/namespaces/hostile/configmaps/«name»\nContent-Type: application/merge-patch+json\n\n«merge»",
		"«object»PATCH /api/v1/namespaces/hostile/configmaps/«name»\nContent-Type: application/strategic-merge-patch+json\n\n«merge»",
		"«object»PATCH /api/v1/namespaces/hostile/configmaps/«name»?fieldManager=«id»&force=true\nContent-Type: application/apply-patch+yaml\n\n«document»",
	},
	"object": {"POST /api/v1/namespaces/hostile/configmaps\nContent-Type: application/json\n\n{\"metadata\":{\"name\":\"«name»\"},\"data\":{\"v\":\"«x*1000»\"}}" + requestEnd},

	"key":         {"a", "kubernetes.io/a", "«urlword»", "«x*64»", "metadata.name", "status.phase", "spec.nodeName", "«x*60000»"},
	"urlword":     {"a", "%00", "%ff", "%F0%9F%92%A5", "..", "%2f", "a%20b", "«percent*3000»", "«x*70000»"},
	"requirement": {"«key»=«urlword»", "!«key»", "«key»%20in%20(«comma*5000»b)", "«key»%20notin%20()", "«key»%3E«int»", "«key»%3C«int»", "«paren*5000»", "«key»==«key»==", "«key»%20in%20«paren*100»"},
	"separated":   {"«requirement»,"},
	"selector": {
		"GET /api/v1/namespaces/hostile/«core»?labelSelector=«separated*20»a", "GET /api/v1/pods?fieldSelector=«separated*20»a", "GET /api/v1/pods?labelSelector=«separated*3000»a", "GET /api/v1/events?fieldSelector=«requirement»&labelSelector=«requirement»",
		"DELETE /api/v1/namespaces/hostile/configmaps?labelSelector=«requirement»", "GET /api/v1/namespaces/hostile/pods?labelSelector=«requirement»&watch=true&timeoutSeconds=1",
	},

	"segment": {"api", "apis", "v1", "namespaces", "pods", "apps", "deployments", "watch", "proxy", "log", "exec", "«urlword»", "scale", "status", "openapi", "metrics", "debug", "healthz", "minikcm.dev"},
	"slashed": {"/«segment»"},
	"path": {
		"GET «slashed*3»", "GET «slashed*6»", "GET «slashed*12»", "GET «slashed*5000»", "GET /«dot*5000»etc/passwd", "DELETE «slashed*8»", "POST «slashed*5»\nContent-Type: application/json\n\n«json»", "GET //api//v1//«segment»//",
		"GET /api/v1/namespaces/hostile/pods/shell/«sub»«slashed*3»", "OPTIONS *", "«segment» /api", "GET /openapi/v3/apis/«segment»/«urlword»?hash=«urlword»", "HEAD /api/v1/«segment»", "CONNECT /api/v1/nodes/node-0/proxy/«segment»", "GET /debug/pprof/«urlword»",
	},
	"sub": {"log", "proxy", "exec", "attach", "portforward", "eviction", "binding", "resize", "ephemeralcontainers", "status", "«urlword»"},
	"parameter": {
		"limit=«int»&", "continue=«urlword»&", "resourceVersion=«int»&", "resourceVersionMatch=«urlword»&", "timeoutSeconds=1&", "watch=«urlword»&", "sendInitialEvents=true&allowWatchBookmarks=true&", "pretty=true&", "dryRun=«urlword»&",
		"fieldManager=«urlword»&", "fieldValidation=«urlword»&", "propagationPolicy=«urlword»&", "gracePeriodSeconds=«int»&", "timeout=«int»s&", "shardSelector=«urlword»&", "includeObject=«urlword»&", "as=«urlword»&", "%zz=%&", ";;&", "orphanDependents=«urlword»&",
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTIyMzM3MjAzNjg1NDc3NTgwNywic3RhcnQiOiIuLi8uLi8ifQ&",
	},
	"query": {
		"GET /api/v1/namespaces/hostile/«core»?«parameter*3»", "GET /api/v1/«core»?«parameter*6»", "GET /api/v1/pods?«parameter*2000»", "DELETE /api/v1/namespaces/hostile/secrets?«parameter*3»", "GET /apis/apps/v1/deployments?«parameter*4»timeoutSeconds=1",
		"POST /api/v1/namespaces/hostile/configmaps?«parameter*4»\nContent-Type: application/json\n\n{\"metadata\":{\"name\":\"«name»\"}}", "GET /api/v1/namespaces/hostile/pods/shell/log?tailLines=«int»&limitBytes=«int»&sinceSeconds=«int»&container=«urlword»", "GET /api/v1/namespaces/hostile/pods/shell/log?sinceTime=«urlword»&previous=«urlword»&timestamps=«urlword»",
	},

	"media":  {"application/json", "application/yaml", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf;stream=watch", "«word»", "a/b;q=«int»", "application/json;as=«word»;v=«word»;g=«word»"},
	"medias": {"«media»,"},
	"field": {
		"Accept: «medias*20»*/*", "Accept: «medias*5000»", "Accept-Encoding: gzip;q=«int», «word»", "Authorization: Bearer «x*20000»", "Authorization: Bearer «word».«word».«word»", "Authorization: Basic «word»", "Impersonate-User: «word»", "Impersonate-Group: system:masters",
		"Impersonate-Extra-«word»: «word»", "Impersonate-Uid: «int»", "Content-Length: «int»", "Transfer-Encoding: chunked", "Transfer-Encoding: «word»", "X-Forwarded-For: «comma*5000»", "X-Remote-User: admin", "X-Remote-Group: system:masters", "Upgrade: websocket\nConnection: Upgrade",
		"Upgrade: SPDY/3.1\nConnection: Upgrade", "Sec-Websocket-Protocol: «medias*200»", "Traceparent: 00-«x*9000»", "Baggage: «comma*9000»", "Audit-Id: «x*60000»", "If-Match: «word»", "Range: bytes=«int»-«int»", "Expect: 100-continue", "Content-Encoding: gzip", "Minikcm-Cause: «word»", "User-Agent: «x*100000»", "X: «x*1100000»", "Origin: «word»", "Host: «word»",
	},
	"line": {"«field»\n"},
	"header": {
		"GET /api/v1/namespaces/hostile/configmaps\n«line*3»", "GET /api/v1/namespaces/hostile/pods/shell/exec?command=true&stdout=true\n«line*4»", "GET /apis\n«line*2»", "GET /openapi/v2\n«line*2»", "GET /api/v1/pods?watch=true&timeoutSeconds=1\n«line*4»",
		"POST /api/v1/namespaces/hostile/configmaps\n«line*3»\n{\"metadata\":{\"name\":\"«name»\"}}", "GET /api/v1\n«line*2000»", "GET /metrics\n«line*3»",
	},
}
