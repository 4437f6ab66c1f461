package stages

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"
)

// functions returns the functions of templates: kwok's, and the functions of sprig
// (https://masterminds.github.io/sprig/) that stage authors use.
func functions(env *Env) template.FuncMap {
	all := template.FuncMap{}
	for _, some := range []template.FuncMap{kwokFunctions(env), randomFunctions(env), stringFunctions, numberFunctions, valueFunctions} {
		for name, f := range some {
			all[name] = f
		}
	}
	return all
}

func kwokFunctions(env *Env) template.FuncMap {
	first := func(all []string) string {
		if len(all) == 0 {
			return ""
		}
		return all[0]
	}
	nodeIPs := func(node string) []string {
		if env.NodeIPs == nil {
			return nil
		}
		return env.NodeIPs(node)
	}
	podIPs := func(node string, hostNetwork bool, uid, _, _ string) ([]string, error) {
		if hostNetwork || env.PodIPs == nil {
			return nodeIPs(node), nil
		}
		return env.PodIPs(node, uid)
	}
	return template.FuncMap{
		"Now":            func() string { return env.Now.UTC().Format(time.RFC3339Nano) },
		"StartTime":      func() string { return env.Start.UTC().Format(time.RFC3339Nano) },
		"Version":        func() string { return env.Version },
		"NodeConditions": nodeConditions,
		"NodeName":       func() string { return env.Node },
		"NodePort":       func() int { return env.NodePort },
		"NodeIP":         func() string { return first(nodeIPs(env.Node)) },
		"NodeIPs":        func() []string { return nodeIPs(env.Node) },
		"NodeIPWith":     func(node string) string { return first(nodeIPs(node)) },
		"NodeIPsWith":    nodeIPs,
		"PodIPsWith":     podIPs,
		"PodIPWith": func(node string, hostNetwork bool, uid, name, namespace string) (string, error) {
			all, err := podIPs(node, hostNetwork, uid, name, namespace)
			return first(all), err
		},
		"now": func() time.Time { return env.Now.UTC() },
	}
}

// quote returns a string as JSON does, and another value as a string of its JSON.
func quote(v any) string {
	if s, ok := v.(string); ok {
		return jsonText(s)
	}
	return strconv.Quote(jsonText(v))
}

func jsonText(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return string(encoded)
}

// encodeYAML returns a value as YAML; with a depth, on lines of its own that are indented so many
// times two spaces.
func encodeYAML(v any, depth ...int) (string, error) {
	encoded, err := yaml.Marshal(v)
	if err != nil {
		return "", err
	}
	if len(depth) != 1 || depth[0] <= 0 {
		return string(encoded), nil
	}
	if depth[0] > 100 {
		return "", fmt.Errorf("a depth of %d is more than 100", depth[0])
	}
	return indent(depth[0]*2, "\n"+string(encoded))
}

func nodeConditions() any {
	condition := func(kind, status, reason, message string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
	}
	return []any{
		condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
		condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
	}
}

// letters is the alphabet of randAlphaNum; the first ten are digits.
const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func randomFunctions(env *Env) template.FuncMap {
	some := func(from string) func(n int) (string, error) {
		return func(n int) (string, error) {
			if n < 0 || n > 4096 {
				return "", fmt.Errorf("%d characters are not between 0 and 4096", n)
			}
			out := make([]byte, n)
			for i := range out {
				out[i] = from[env.Random.IntN(len(from))]
			}
			return string(out), nil
		}
	}
	return template.FuncMap{
		"randAlphaNum": some(letters), "randAlpha": some(letters[10:]), "randNumeric": some(letters[:10]),
		"randInt": func(from, to int) (int, error) {
			if to <= from || to-from <= 0 {
				return 0, fmt.Errorf("no number is between %d and %d", from, to)
			}
			return from + env.Random.IntN(to-from), nil
		},
		"uuidv4": func() string {
			a, b := env.Random.Uint64()&^0xf000|0x4000, env.Random.Uint64()&^(0xc<<60)|0x8<<60
			return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
		},
	}
}

func indent(n int, s string) (string, error) {
	if n < 0 || n > maxOutput || (strings.Count(s, "\n")+1)*n+len(s) > maxOutput {
		return "", errLong
	}
	pad := strings.Repeat(" ", n)
	return strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

var stringFunctions = template.FuncMap{
	"Quote": quote, "YAML": encodeYAML,
	// These replace text/template's own, whose results have no limit.
	"print": fmt.Sprint, "println": fmt.Sprintln, "printf": formatted,
	"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	"trim": strings.TrimSpace, "upper": strings.ToUpper, "lower": strings.ToLower,
	"trimAll":    func(cut, s string) string { return strings.Trim(s, cut) },
	"trimPrefix": func(prefix, s string) string { return strings.TrimPrefix(s, prefix) },
	"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
	"hasPrefix":  func(prefix, s string) bool { return strings.HasPrefix(s, prefix) },
	"hasSuffix":  func(suffix, s string) bool { return strings.HasSuffix(s, suffix) },
	"contains":   func(part, s string) bool { return strings.Contains(s, part) },
	"replace": func(old, with, s string) (string, error) {
		if len(s)+strings.Count(s, old)*len(with) > maxOutput {
			return "", errLong
		}
		return strings.ReplaceAll(s, old, with), nil
	},
	"repeat": func(n int, s string) (string, error) {
		if n < 0 || len(s) > 0 && n > maxOutput/len(s) {
			return "", errLong
		}
		return strings.Repeat(s, n), nil
	},
	"indent":  func(n int, s string) (string, error) { return indent(n, strings.Repeat(" ", min(max(n, 0), 4096))+s) },
	"nindent": func(n int, s string) (string, error) { return indent(n, "\n"+s) },
	"trunc": func(n int, s string) string {
		switch {
		case n >= 0 && n < len(s):
			return s[:n]
		case n < 0 && -n < len(s) && -n > 0:
			return s[len(s)+n:]
		}
		return s
	},
	"splitList": func(separator, s string) []any {
		var all []any
		for _, part := range strings.Split(s, separator) {
			all = append(all, part)
		}
		return all
	},
	"join": func(separator string, list any) (string, error) {
		all, err := elements(list)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		for i, v := range all {
			if i > 0 {
				out.WriteString(separator)
			}
			out.WriteString(toString(v))
			if out.Len() > maxOutput {
				return "", errLong
			}
		}
		return out.String(), nil
	},
	"quote":    func(v any) string { return strconv.Quote(toString(v)) },
	"squote":   func(v any) string { return "'" + toString(v) + "'" },
	"toString": toString,
	"b64enc":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"b64dec": func(s string) (string, error) {
		out, err := base64.StdEncoding.DecodeString(s)
		return string(out), err
	},
	"sha256sum": func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) },
	"regexMatch": func(pattern, s string) (bool, error) {
		if len(pattern) > 1024 {
			return false, fmt.Errorf("a pattern has %d bytes, more than 1024", len(pattern))
		}
		return regexp.MatchString(pattern, s)
	},
	"date": func(layout string, at any) (string, error) {
		t, err := toTime(at)
		return t.Format(layout), err
	},
	"dateModify": func(by string, at any) (time.Time, error) {
		t, err := toTime(at)
		if err != nil {
			return t, err
		}
		d, err := time.ParseDuration(by)
		return t.Add(d), err
	},
}

func toTime(at any) (time.Time, error) {
	switch at := at.(type) {
	case time.Time:
		return at, nil
	case string:
		return time.Parse(time.RFC3339Nano, at)
	}
	return time.Time{}, fmt.Errorf("%T is no time", at)
}

func toString(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

// elements returns the elements of a list.
func elements(list any) ([]any, error) {
	v := reflect.ValueOf(list)
	if !v.IsValid() {
		return nil, nil
	}
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return nil, fmt.Errorf("%T is no list", list)
	}
	all := make([]any, v.Len())
	for i := range all {
		all[i] = v.Index(i).Interface()
	}
	return all, nil
}

var numberFunctions = template.FuncMap{
	"int":     func(v any) int { return int(toInt(v)) },
	"int64":   toInt,
	"float64": toFloat,
	"add": func(all ...any) (sum int64) {
		for _, v := range all {
			sum += toInt(v)
		}
		return sum
	},
	"add1": func(v any) int64 { return toInt(v) + 1 },
	"sub":  func(a, b any) int64 { return toInt(a) - toInt(b) },
	"mul": func(first any, more ...any) int64 {
		product := toInt(first)
		for _, v := range more {
			product *= toInt(v)
		}
		return product
	},
	"div": func(a, b any) (int64, error) {
		if toInt(b) == 0 {
			return 0, fmt.Errorf("division by zero")
		}
		return toInt(a) / toInt(b), nil
	},
	"mod": func(a, b any) (int64, error) {
		if toInt(b) == 0 {
			return 0, fmt.Errorf("division by zero")
		}
		return toInt(a) % toInt(b), nil
	},
	"min": func(first any, more ...any) int64 {
		least := toInt(first)
		for _, v := range more {
			least = min(least, toInt(v))
		}
		return least
	},
	"max": func(first any, more ...any) int64 {
		most := toInt(first)
		for _, v := range more {
			most = max(most, toInt(v))
		}
		return most
	},
	"until": func(n int) ([]int, error) {
		if n < 0 || n > maxNumbers {
			return nil, fmt.Errorf("%d numbers are not between 0 and %d", n, maxNumbers)
		}
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all, nil
	},
}

func toInt(v any) int64 {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	case string:
		n, _ := strconv.ParseInt(v, 0, 64)
		return n
	case bool:
		if v {
			return 1
		}
		return 0
	}
	f := toFloat(v)
	if math.IsNaN(f) || f >= math.MaxInt64 || f <= math.MinInt64 {
		return 0
	}
	if r := reflect.ValueOf(v); r.IsValid() && r.CanInt() {
		return r.Int()
	}
	return int64(f)
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case string:
		f, _ := strconv.ParseFloat(v, 64)
		return f
	}
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.CanFloat():
		return r.Float()
	}
	return 0
}

func isEmpty(v any) bool {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return err == nil && f == 0
	}
	truth, _ := template.IsTrue(v)
	return !truth
}

var valueFunctions = template.FuncMap{
	"empty": isEmpty,
	"default": func(otherwise any, given ...any) any {
		if len(given) == 0 || isEmpty(given[0]) {
			return otherwise
		}
		return given[0]
	},
	"coalesce": func(all ...any) any {
		for _, v := range all {
			if !isEmpty(v) {
				return v
			}
		}
		return nil
	},
	"ternary": func(yes, no any, condition bool) any {
		if condition {
			return yes
		}
		return no
	},
	"list": func(all ...any) ([]any, error) { return all, checkSize(all) },
	"dict": func(all ...any) (map[string]any, error) {
		made := map[string]any{}
		for i := 0; i < len(all); i += 2 {
			var v any = ""
			if i+1 < len(all) {
				v = all[i+1]
			}
			made[toString(all[i])] = v
		}
		return made, checkSize(all)
	},
	"get": func(from map[string]any, key string) any {
		if v, ok := from[key]; ok {
			return v
		}
		return ""
	},
	"hasKey": func(in map[string]any, key string) bool { _, ok := in[key]; return ok },
	"keys": func(of map[string]any) []string {
		var all []string
		for key := range of {
			all = append(all, key)
		}
		sort.Strings(all)
		return all
	},
	"first": func(list any) (any, error) {
		all, err := elements(list)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		return all[0], nil
	},
	"last": func(list any) (any, error) {
		all, err := elements(list)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		return all[len(all)-1], nil
	},
	"has": func(v, list any) (bool, error) {
		all, err := elements(list)
		for _, element := range all {
			if reflect.DeepEqual(element, v) {
				return true, nil
			}
		}
		return false, err
	},
	"toJson": jsonText,
	"toYaml": func(v any) (string, error) {
		encoded, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(encoded), "\n"), err
	},
	"fromJson": func(s string) (v any, err error) {
		err = json.Unmarshal([]byte(s), &v)
		return v, err
	},
	"fail": func(message string) (string, error) { return "", fmt.Errorf("%s", message) },
}
