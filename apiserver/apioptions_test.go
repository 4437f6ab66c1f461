package apiserver_test

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/golden"
)

const aPath = mapsPath + "/a"

// apiOption is an option of a verb, or of several with the same options.
type apiOption struct {
	// of is the type of the options; nil for parameters that no type has.
	of   any
	name string
	// effect is the documentation: what the option does here, where it is not what the API reference says.
	effect string
	// check fails the test unless the option has its effect. There are the ConfigMaps a and b, which have the label l with their name.
	check func(t *testing.T, h *harness)
}

// title returns the verbs that have options of a type.
func (o apiOption) title() string {
	if o.of == nil {
		return "all"
	}
	return map[string]string{
		"CreateOptions": "create", "UpdateOptions": "update", "PatchOptions": "patch", "DeleteOptions": "delete, deletecollection",
		"ListOptions": "list, watch, deletecollection", "GetOptions": "get", "TableOptions": "any, as a Table",
	}[reflect.TypeOf(o.of).Name()]
}

func apiOptions() []apiOption {
	return slices.Concat(writeOptions(), deleteOptions(), readOptions())
}

// has sends a request and fails unless the response has the code, and its body contains text.
func (h *harness) has(t *testing.T, code int, text, method, path, body string, headers ...string) {
	t.Helper()
	if r := h.send(method, path, body, headers...); r.code != code || !strings.Contains(string(r.body), text) {
		t.Errorf("%s %s: %d, want %d with %s:\n%s", method, path, r.code, code, text, r.body)
	}
}

const (
	bareC       = `{"metadata":{"name":"c"}}`
	bareA       = `{"metadata":{"name":"a"}}`
	unknownInC  = `{"metadata":{"name":"c"},"nosuch":1}`
	unknownInA  = `{"metadata":{"name":"a"},"nosuch":1}`
	unknownText = `unknown field \"nosuch\"`
	mergeType   = "application/merge-patch+json"
	applyType   = "application/apply-patch+yaml"
	appliedA    = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"applied"}}`
)

func writeOptions() []apiOption {
	return []apiOption{
		{metav1.CreateOptions{}, "dryRun", "", func(t *testing.T, h *harness) {
			h.has(t, 201, "", "POST", mapsPath+"?dryRun=All", bareC)
			h.has(t, 404, "", "GET", mapsPath+"/c", "")
			h.has(t, 422, "dryRun", "POST", mapsPath+"?dryRun=Some", bareC)
		}},
		{metav1.CreateOptions{}, "fieldManager", "", func(t *testing.T, h *harness) {
			h.has(t, 201, `"manager":"me"`, "POST", mapsPath+"?fieldManager=me", `{"metadata":{"name":"c"},"data":{"k":"v"}}`)
		}},
		{metav1.CreateOptions{}, "fieldValidation", "", func(t *testing.T, h *harness) {
			h.has(t, 400, unknownText, "POST", mapsPath+"?fieldValidation=Strict", unknownInC)
			h.has(t, 201, "", "POST", mapsPath+"?fieldValidation=Ignore", unknownInC)
		}},
		{metav1.UpdateOptions{}, "dryRun", "", func(t *testing.T, h *harness) {
			h.has(t, 200, "", "PUT", aPath+"?dryRun=All", bareA)
			h.has(t, 200, `"l":"a"`, "GET", aPath, "")
		}},
		{metav1.UpdateOptions{}, "fieldManager", "", func(t *testing.T, h *harness) {
			h.has(t, 200, `"manager":"me"`, "PUT", aPath+"?fieldManager=me", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		}},
		{metav1.UpdateOptions{}, "fieldValidation", "", func(t *testing.T, h *harness) {
			h.has(t, 400, unknownText, "PUT", aPath+"?fieldValidation=Strict", unknownInA)
			h.has(t, 200, "", "PUT", aPath+"?fieldValidation=Ignore", unknownInA)
		}},
		{metav1.PatchOptions{}, "dryRun", "", func(t *testing.T, h *harness) {
			h.has(t, 200, `"k":"v"`, "PATCH", aPath+"?dryRun=All", `{"data":{"k":"v"}}`, "Content-Type", mergeType)
			if r := h.mustSend("GET", aPath, ""); strings.Contains(string(r.body), `"k"`) {
				t.Errorf("it was stored: %s", r.body)
			}
		}},
		{metav1.PatchOptions{}, "force", "", func(t *testing.T, h *harness) {
			h.mustSend("PATCH", aPath, `{"data":{"k":"v"}}`, "Content-Type", mergeType)
			h.has(t, 409, "conflict", "PATCH", aPath+"?fieldManager=me", appliedA, "Content-Type", applyType)
			h.has(t, 200, "", "PATCH", aPath+"?fieldManager=me&force=true", appliedA, "Content-Type", applyType)
			h.has(t, 422, "force", "PATCH", aPath+"?force=true", `{}`, "Content-Type", mergeType)
		}},
		{metav1.PatchOptions{}, "fieldManager", "", func(t *testing.T, h *harness) {
			h.has(t, 200, `"manager":"me"`, "PATCH", aPath+"?fieldManager=me", `{"data":{"k":"v"}}`, "Content-Type", mergeType)
			h.has(t, 422, "fieldManager", "PATCH", aPath, appliedA, "Content-Type", applyType)
		}},
		{metav1.PatchOptions{}, "fieldValidation", "", func(t *testing.T, h *harness) {
			h.has(t, 422, unknownText, "PATCH", aPath+"?fieldValidation=Strict", `{"nosuch":1}`, "Content-Type", mergeType)
			h.has(t, 200, "", "PATCH", aPath+"?fieldValidation=Ignore", `{"nosuch":1}`, "Content-Type", mergeType)
		}},
	}
}

func deleteOptions() []apiOption {
	return []apiOption{
		{metav1.DeleteOptions{}, "gracePeriodSeconds", "only pods on a node have a grace period, as in upstream's API server", func(t *testing.T, h *harness) {
			p := pod("p")
			p.Spec.NodeName = "n"
			must(h.client().CoreV1().Pods("default").Create(h.ctx, p, metav1.CreateOptions{}))(t)
			h.has(t, 200, `"deletionGracePeriodSeconds":7`, "DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=7", "")
		}},
		{metav1.DeleteOptions{}, "preconditions", "in the body only", func(t *testing.T, h *harness) {
			h.has(t, 409, "UID in the precondition", "DELETE", aPath, `{"preconditions":{"uid":"x"}}`)
			h.has(t, 409, "ResourceVersion in the precondition", "DELETE", aPath, `{"preconditions":{"resourceVersion":"1"}}`)
		}},
		{metav1.DeleteOptions{}, "orphanDependents", "", func(t *testing.T, h *harness) {
			h.has(t, 200, `"orphan"`, "DELETE", aPath+"?orphanDependents=true", "")
		}},
		{metav1.DeleteOptions{}, "propagationPolicy", "without effect on Events, on which nothing depends", func(t *testing.T, h *harness) {
			h.has(t, 422, "propagationPolicy", "DELETE", aPath+"?propagationPolicy=Some", "")
			h.has(t, 200, `"foregroundDeletion"`, "DELETE", aPath+"?propagationPolicy=Foreground", "")
		}},
		{metav1.DeleteOptions{}, "dryRun", "", func(t *testing.T, h *harness) {
			h.has(t, 200, "", "DELETE", aPath+"?dryRun=All", "")
			h.has(t, 200, "", "DELETE", mapsPath+"?dryRun=All", "")
			h.has(t, 200, "", "GET", aPath, "")
		}},
		{
			metav1.DeleteOptions{},
			"ignoreStoreReadErrorWithClusterBreakingPotential", "needs the verb `unsafe-delete-ignore-read-errors`, too, and an object that cannot be decrypted or decoded",
			func(t *testing.T, h *harness) {
				h.has(t, 409, "unsafe deletion is not allowed", "DELETE", aPath+"?ignoreStoreReadErrorWithClusterBreakingPotential=true", "")
				h.has(t, 200, "", "GET", aPath, "")
			},
		},
	}
}

// names lists ConfigMaps and returns their names.
func (h *harness) names(t *testing.T, query string) string {
	t.Helper()
	var list corev1.ConfigMapList
	h.mustSend("GET", mapsPath+"?"+query, "").into(t, &list)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return strings.Join(names, " ")
}

func wantNames(query, want string) func(t *testing.T, h *harness) {
	return func(t *testing.T, h *harness) {
		if got := h.names(t, query); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

func readOptions() []apiOption {
	return []apiOption{
		{metav1.GetOptions{}, "resourceVersion", "", func(t *testing.T, h *harness) {
			h.has(t, 500, "strconv", "GET", aPath+"?resourceVersion=x", "")
			h.has(t, 504, "Too large resource version", "GET", aPath+"?resourceVersion=1000000", "")
		}},
		{metav1.ListOptions{}, "labelSelector", "", wantNames("labelSelector=l%3Db", "b")},
		{metav1.ListOptions{}, "fieldSelector", "the labels that upstream knows", wantNames("fieldSelector=metadata.name%3Db", "b")},
		{metav1.ListOptions{}, "watch", "", func(t *testing.T, h *harness) {
			h.has(t, 200, `"type":"ADDED"`, "GET", mapsPath+"?watch=TRUE&timeoutSeconds=1", "")
			h.has(t, 200, "ConfigMapList", "GET", mapsPath+"?watch=FALSE", "")
		}},
		{metav1.ListOptions{}, "allowWatchBookmarks", "", func(t *testing.T, h *harness) {
			h.has(t, 200, `"type":"BOOKMARK"`, "GET", mapsPath+"?watch=1&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "")
		}},
		{metav1.ListOptions{}, "resourceVersion", "", func(t *testing.T, h *harness) {
			wantNames("resourceVersion=0", "a b")(t, h)
			h.has(t, 504, "Too large resource version", "GET", mapsPath+"?resourceVersion=1000000", "")
		}},
		{metav1.ListOptions{}, "resourceVersionMatch", "", func(t *testing.T, h *harness) {
			version := must(h.client().CoreV1().ConfigMaps("default").Get(h.ctx, "a", metav1.GetOptions{}))(t).ResourceVersion
			wantNames("resourceVersionMatch=Exact&resourceVersion="+version, "a")(t, h)
			h.has(t, 422, "resourceVersionMatch", "GET", mapsPath+"?resourceVersionMatch=Exact", "")
		}},
		{metav1.ListOptions{}, "timeoutSeconds", "of a watch, in the machine's time", func(t *testing.T, h *harness) {
			h.has(t, 200, "", "GET", mapsPath+"?watch=1&timeoutSeconds=1", "")
		}},
		{metav1.ListOptions{}, "limit", "", func(t *testing.T, h *harness) {
			wantNames("limit=1", "a")(t, h)
			h.has(t, 200, `"remainingItemCount":1`, "GET", mapsPath+"?limit=1", "")
			h.has(t, 200, `"continue":`, "GET", "/api/v1/configmaps?limit=1&fieldSelector=metadata.name%3Da", "")
			for _, path := range []string{mapsPath, "/api/v1/configmaps"} {
				r := h.mustSend("GET", path+"?limit=1&fieldSelector=metadata.name%3Da,metadata.namespace%3Ddefault", "")
				if strings.Contains(string(r.body), `"continue":`) {
					t.Errorf("%s: %s", path, r.body)
				}
			}
		}},
		{metav1.ListOptions{}, "continue", "", func(t *testing.T, h *harness) {
			var list corev1.ConfigMapList
			h.mustSend("GET", mapsPath+"?limit=1", "").into(t, &list)
			wantNames("limit=1&continue="+url.QueryEscape(list.Continue), "b")(t, h)
		}},
		{metav1.ListOptions{}, "sendInitialEvents", "", func(t *testing.T, h *harness) {
			h.has(t, 200, "k8s.io/initial-events-end", "GET", mapsPath+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "")
			h.has(t, 422, "sendInitialEvents", "GET", mapsPath+"?watch=1&sendInitialEvents=true", "")
		}},
		{metav1.ListOptions{}, "shardSelector", "ignored, as upstream without the feature gate `ShardedListAndWatch` (alpha)", wantNames("shardSelector=x", "a b")},
		{metav1.TableOptions{}, "includeObject", "", func(t *testing.T, h *harness) {
			const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
			h.has(t, 200, `"kind":"ConfigMap"`, "GET", mapsPath+"?includeObject=Object", "", "Accept", table)
			h.has(t, 200, `"kind":"PartialObjectMetadata"`, "GET", mapsPath+"?includeObject=Metadata", "", "Accept", table)
			h.has(t, 200, `"object":null`, "GET", mapsPath+"?includeObject=None", "", "Accept", table)
		}},
		{nil, "pretty", "also for curl, Wget and browsers that do not ask", func(t *testing.T, h *harness) {
			h.has(t, 200, "\n  \"kind\"", "GET", aPath+"?pretty=true", "")
		}},
		{nil, "timeout", "of requests that are not watches, in the machine's time; a minute at most", func(t *testing.T, h *harness) {
			h.has(t, 400, "invalid timeout specified in the request URL", "GET", aPath+"?timeout=x", "")
			h.has(t, 200, "", "GET", aPath+"?timeout=5s", "")
		}},
	}
}

// TestOptions checks the effect of each option of the API, and that docs/api-options.md says it.
func TestOptions(t *testing.T) {
	known := map[string]bool{}
	for _, option := range apiOptions() {
		known[fmt.Sprintf("%T %s", option.of, option.name)] = true
		t.Run(option.title()+" "+option.name, func(t *testing.T) {
			h := start(t)
			for _, name := range []string{"a", "b"} {
				cm := configMap(name)
				cm.Labels = map[string]string{"l": name}
				must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, cm, metav1.CreateOptions{}))(t)
			}
			option.check(t, h)
		})
	}
	for _, options := range []any{metav1.CreateOptions{}, metav1.UpdateOptions{}, metav1.PatchOptions{}, metav1.DeleteOptions{}, metav1.GetOptions{}, metav1.ListOptions{}, metav1.TableOptions{}} {
		of := reflect.TypeOf(options)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" && !known[of.String()+" "+name] {
				t.Errorf("the option %s of %s has no row", name, of.Name())
			}
		}
	}
}

// TestOptionsPage compares docs/api-options.md with the options.
func TestOptionsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Options of API requests

Every option of create, update, patch, delete, get, list and watch, as parameters of the URL (those of a deletion also in its body).
A test checks the effect of each; where the column is empty, it is what the API reference says. Booleans are read as upstream reads
them: every value but ` + "`0` and `false`" + `, in any case, is true, also an empty one.

| verbs | option | here |
| --- | --- | --- |
`)
	for _, option := range apiOptions() {
		fmt.Fprintf(&page, "| %s | `%s` | %s |\n", option.title(), option.name, option.effect)
	}
	golden.Compare(t, "../docs/api-options.md", []byte(page.String()))
}
