package comparison

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maxValue caps the text of a field's value, in bytes. Of longer values, the part is shown where the
// two begin to differ.
const maxValue = 200

// passing are the fields that two clusters never have in common, wherever they are: identities,
// addresses, counters of changes.
var passing = map[string]bool{
	"uid": true, "resourceVersion": true, "generation": true, "managedFields": true, "selfLink": true, "creationTimestamp": true,
	"observedGeneration": true, "containerID": true, "podIP": true, "podIPs": true, "hostIP": true, "hostIPs": true,
	"machineID": true, "bootID": true, "systemUUID": true, "daemonEndpoints": true,
}

// addressed are the fields of all kinds whose values may be addresses that a cluster gives out. Other
// values of them last, such as the cluster IP None.
var addressed = map[string]bool{"status": true, "clusterIP": true, "clusterIPs": true, "podCIDR": true, "podCIDRs": true}

// Lasting returns a copy of an object without the fields that always differ between two clusters, and
// without the images that a node has pulled so far; nil for nil. Values of Secrets are replaced by
// their lengths.
func Lasting(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	endpoints := object["kind"] == "EndpointSlice" || object["kind"] == "Endpoints"
	kept, _ := keep(object, endpoints).(map[string]any)
	if kept == nil {
		kept = map[string]any{}
	}
	switch object["kind"] {
	case "EndpointSlice": // sorted by address
		sortItems(kept["endpoints"])
	case "Endpoints":
		subsets, _ := kept["subsets"].([]any)
		for _, subset := range subsets {
			if subset, ok := subset.(map[string]any); ok {
				sortItems(subset["addresses"])
				sortItems(subset["notReadyAddresses"])
			}
		}
	case "Node": // what its runtime has pulled so far
		if status, ok := kept["status"].(map[string]any); ok {
			delete(status, "images")
		}
	case "Secret":
		for _, field := range []string{"data", "stringData"} {
			values, _ := kept[field].(map[string]any)
			for name, value := range values {
				values[name] = fmt.Sprintf("%d characters", len(fmt.Sprint(value)))
			}
		}
	}
	return kept
}

// keep returns a copy of a value, or nil if nothing of it lasts. Addresses do not if addresses is set.
func keep(value any, addresses bool) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			if passing[name] {
				continue
			}
			if kept := keep(field, addresses || addressed[name]); kept != nil {
				out[name] = kept
			}
			if name == "conditions" {
				sortConditions(out[name])
			}
		}
		if len(out) == 0 && len(v) > 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, keep(item, addresses))
		}
		return out
	case string:
		if isTime(v) || addresses && isAddress(v) {
			return nil
		}
	}
	return value
}

// sortItems sorts a list whose order depended on the fields that keep left out.
func sortItems(list any) {
	items, _ := list.([]any)
	slices.SortStableFunc(items, func(a, b any) int { return strings.Compare(text(a), text(b)) })
}

// sortConditions sorts conditions by their types. Their order is the one in which they came, and has no meaning.
func sortConditions(list any) {
	items, _ := list.([]any)
	kind := func(item any) string {
		condition, _ := item.(map[string]any)
		return text(condition["type"])
	}
	slices.SortStableFunc(items, func(a, b any) int { return strings.Compare(kind(a), kind(b)) })
}

// isAddress reports whether a text is an IP address or a range of them.
func isAddress(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(text)
	return err == nil
}

// isTime reports whether a text is a time of the API.
func isTime(text string) bool {
	if len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' || text[10] != 'T' {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// differences returns the fields in which two objects differ, by path: the first ones, and how many
// more there are.
func differences(here, there map[string]any) (fields []Field, more int) {
	all := compare(nil, "", here, there)
	if len(all) > maxFields {
		return all[:maxFields], len(all) - maxFields
	}
	return all, 0
}

// compare appends the fields in which two values differ. Lists are compared as wholes, unless they
// have the same length.
func compare(fields []Field, path string, here, there any) []Field {
	if reflect.DeepEqual(here, there) {
		return fields
	}
	switch h := here.(type) {
	case map[string]any:
		t, ok := there.(map[string]any)
		if !ok {
			break
		}
		names := slices.Collect(maps.Keys(h))
		for name := range t {
			if _, both := h[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			fields = compare(fields, join(path, name), h[name], t[name])
		}
		return fields
	case []any:
		t, ok := there.([]any)
		if !ok || len(h) != len(t) {
			break
		}
		for i := range h {
			fields = compare(fields, fmt.Sprintf("%s[%d]", path, i), h[i], t[i])
		}
		return fields
	}
	field := Field{Path: path, Here: text(here), There: text(there)}
	field.Here, field.There = window(field.Here, field.There)
	return append(fields, field)
}

// before is how much of two long texts is shown before the first difference, in bytes.
const before = 20

// window cuts two texts to the part where they begin to differ, if they are long.
func window(a, b string) (string, string) {
	if len(a) <= maxValue && len(b) <= maxValue {
		return a, b
	}
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	if begin = begin - before; begin < maxValue/2 {
		begin = 0
	}
	return part(a, begin), part(b, begin)
}

// part returns maxValue bytes of a text, with an ellipsis where something is left out.
func part(text string, begin int) string {
	if begin > 0 && begin < len(text) {
		text = "…" + text[begin:]
	}
	if len(text) > maxValue {
		text = text[:maxValue] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// text returns a value in JSON; empty for nil.
func text(value any) string {
	if value == nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

func phaseOf(pod map[string]any) string {
	status, _ := pod["status"].(map[string]any)
	if phase, ok := status["phase"].(string); ok && phase != "" {
		return phase
	}
	return "Unknown"
}

func isReady(node map[string]any) bool {
	status, _ := node["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}
