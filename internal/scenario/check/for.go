package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// The things that can be waited for.
const (
	ForCondition = "condition"
	ForJSONPath  = "jsonpath"
	ForCEL       = "cel"
	ForCreate    = "create"
	ForDelete    = "delete"
	ForRollout   = "rollout"
	ForCount     = "count"
)

// For is the parsed text of a wait's For.
type For struct {
	// Kind is one of those above.
	Kind string
	// Name and Value are the condition's type and status, or the path's text and wanted
	// value; Name alone is the expression. AnyValue accepts every value that is not empty.
	Name, Value string
	AnyValue    bool
	// Operator and Count are set for a count. Operator is =, >= or <=.
	Operator string
	Count    int
	// Path is the parsed JSON path.
	Path *jsonpath.JSONPath
}

var count = regexp.MustCompile(`^count *(>=|<=|==|=) *(\d+)$`)

// conditionType matches the condition types that the API conventions allow.
var conditionType = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?/)?[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

func parseFor(text string) (For, error) {
	if match := count.FindStringSubmatch(text); match != nil {
		n, err := strconv.Atoi(match[2])
		return For{Kind: ForCount, Operator: strings.Replace(match[1], "==", "=", 1), Count: n}, err
	}
	kind, rest, _ := strings.Cut(text, "=")
	switch {
	case (kind == ForCreate || kind == ForDelete || kind == ForRollout) && rest == "":
		return For{Kind: kind}, nil
	case kind == ForCondition && rest != "":
		return parseCondition(rest)
	case kind == ForJSONPath && strings.HasPrefix(rest, "{"):
		return parsePath(rest)
	case kind == ForCEL && rest != "":
		return For{Kind: kind, Name: rest}, nil
	case text == "":
		return For{}, fmt.Errorf("is missing: write condition=Available, condition=Ready=False, jsonpath={.status.phase}=Running, cel=EXPRESSION, create, delete, rollout or count>=3")
	}
	return For{}, fmt.Errorf("%q cannot be waited for; write condition=Available, condition=Ready=False, jsonpath={.status.phase}=Running, cel=EXPRESSION, create, delete, rollout or count>=3", text)
}

func parseCondition(rest string) (For, error) {
	name, status, given := strings.Cut(rest, "=")
	if !given {
		status = "True"
	}
	if !conditionType.MatchString(name) {
		return For{}, fmt.Errorf("no condition can be called %q: it is a word such as Available", name)
	}
	if !slices.ContainsFunc([]string{"True", "False", "Unknown"}, func(s string) bool { return strings.EqualFold(s, status) }) {
		return For{}, fmt.Errorf("a condition's status is True, False or Unknown, never %q", status)
	}
	return For{Kind: ForCondition, Name: name, Value: status}, nil
}

func parsePath(rest string) (For, error) {
	end := strings.LastIndex(rest, "}")
	if end < 0 {
		return For{}, fmt.Errorf("the braces of jsonpath=%s are not closed", rest)
	}
	expression, value, given := rest[:end+1], strings.TrimPrefix(rest[end+1:], "="), end+1 < len(rest)
	if given && rest[end+1] != '=' {
		return For{}, fmt.Errorf("jsonpath=%s: after the expression comes =VALUE or nothing", rest)
	}
	path := jsonpath.New("wait").AllowMissingKeys(true)
	if err := path.Parse(expression); err != nil {
		return For{}, fmt.Errorf("jsonpath=%s: %w", rest, err)
	}
	return For{Kind: ForJSONPath, Name: expression, Value: value, AnyValue: !given, Path: path}, nil
}

// conditionsOf returns the conditions that the controllers of a kind set; no other one
// ever comes. known is false for kinds that may have any condition.
func conditionsOf(kind string) (conditions []string, known bool) {
	kind, group, _ := strings.Cut(strings.ToLower(kind), ".")
	switch kind {
	case "deployment", "deployments", "deploy":
		if group == "" || group == "apps" {
			return []string{"Available", "Progressing", "ReplicaFailure"}, true
		}
	case "job", "jobs":
		if group == "" || group == "batch" {
			return []string{"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"}, true
		}
	case "replicaset", "replicasets", "rs":
		if group == "" || group == "apps" {
			return []string{"ReplicaFailure"}, true
		}
	case "horizontalpodautoscaler", "horizontalpodautoscalers", "hpa":
		if group == "" || group == "autoscaling" {
			return []string{"AbleToScale", "ScalingActive", "ScalingLimited"}, true
		}
	case "poddisruptionbudget", "poddisruptionbudgets", "pdb":
		if group == "" || group == "policy" {
			return []string{"DisruptionAllowed"}, true
		}
	case "statefulset", "statefulsets", "sts", "daemonset", "daemonsets", "ds", "cronjob", "cronjobs", "cj", "configmap", "configmaps", "cm", "secret", "secrets":
		if group == "" || group == "apps" || group == "batch" {
			return nil, true
		}
	}
	return nil, false
}

// rollsOut says whether objects of a kind have rollouts, as kubectl sees it.
func rollsOut(kind string) bool {
	kind, group, _ := strings.Cut(strings.ToLower(kind), ".")
	kinds := []string{"deployment", "deployments", "deploy", "statefulset", "statefulsets", "sts", "daemonset", "daemonsets", "ds"}
	return slices.Contains(kinds, kind) && (group == "" || group == "apps" || strings.HasSuffix(group, ".apps"))
}

// possible returns an error if objects of a kind never become what is waited for.
func (f *For) possible(kind string) error {
	switch f.Kind {
	case ForCondition:
	case ForRollout:
		if !rollsOut(kind) {
			return fmt.Errorf("%s is never rolled out, only deployments, statefulsets and daemonsets are", kind)
		}
		return nil
	default:
		return nil
	}
	conditions, known := conditionsOf(kind)
	if !known || slices.ContainsFunc(conditions, func(c string) bool { return strings.EqualFold(c, f.Name) }) {
		return nil
	}
	if len(conditions) == 0 {
		return fmt.Errorf("%s never has a condition: wait for rollout, or for a jsonpath of its status", kind)
	}
	return fmt.Errorf("%s never has the condition %s; %s", kind, f.Name, spec.DidYouMean(f.Name, conditions))
}
