package chaosmesh

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxTemplates caps the templates of a Workflow, because the cost of a schema's rules is limited.
const maxTemplates = 100

// addRules adds to the schemas what Chaos Mesh's webhooks refuse, and what cannot be run here.
func addRules(schemas map[string]any) {
	podChaos := at(schemas, KindPodChaos, "properties", "spec")
	addRule(podChaos, rule("self == oldSelf", `"Cannot update chaos spec"`))
	addPodChaosRules(podChaos)
	for _, kind := range []string{KindNetworkChaos, KindDNSChaos, KindHTTPChaos} {
		addRule(at(schemas, kind, "properties", "spec"), rule("self == oldSelf", `"Cannot update chaos spec"`))
	}
	addRule(at(schemas, KindNetworkChaos, "properties", "spec"), rule(`!has(self.action) || self.action != "duplicate"`, strconv.Quote(whyNoDuplicates)))
	schedule := at(schemas, KindSchedule, "properties", "spec")
	addRule(schedule, refuse("type", refused()))
	addPodChaosRules(at(schedule, "properties", "podChaos"))
	addWorkflowRules(at(schedule, "properties", "workflow"))
	addWorkflowRules(at(schemas, KindWorkflow, "properties", "spec"))
}

func addPodChaosRules(spec map[string]any) {
	addRule(spec, rule(`!has(self.action) || self.action != "container-kill" || has(self.containerNames) && size(self.containerNames) > 0`,
		`"the name of container is empty on container-kill action: invalid value"`))
}

func addWorkflowRules(spec map[string]any) {
	templates := at(spec, "properties", "templates")
	templates["maxItems"] = int64(maxTemplates)
	addRule(spec, rule("has(self.templates) && size(self.templates) > 0", `"templates in workflow could not be empty"`))
	addRule(spec, rule("!has(self.templates) || size(self.templates) == 0 || has(self.entry) && self.templates.exists(t, has(t.name) && t.name == self.entry)",
		`"can not find a template with name " + (has(self.entry) ? self.entry : "")`))
	template := at(templates, "items")
	addRule(template, refuse("templateType", refusedTemplates()))
	known := []string{"Serial", "Parallel", "Suspend", KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos, KindSchedule}
	all := append(known, slices.Sorted(maps.Keys(refusedTemplates()))...)
	addRule(template, rule("has(self.templateType) && self.templateType in "+listOf(all), `"unrecognized template type: " + (has(self.templateType) ? self.templateType : "")`))
	addPodChaosRules(at(template, "properties", "podChaos"))
	for _, field := range []string{"name", "templateType"} {
		at(template, "properties", field)["maxLength"] = int64(253)
	}
	at(spec, "properties", "entry")["maxLength"] = int64(253)
	// A Schedule in a template has no schema of its own, so that schemas do not nest without end.
	scheduled := at(template, "properties", "schedule")
	scheduled["properties"] = map[string]any{"type": map[string]any{"type": "string", "maxLength": int64(253)}}
	addRule(scheduled, refuse("type", refused()))
}

// refuse returns the rule that a field names no kind that is not run here, for these reasons.
func refuse(field string, reasons map[string]string) map[string]any {
	kinds := slices.Sorted(maps.Keys(reasons))
	var messages []string
	for _, kind := range kinds {
		messages = append(messages, strconv.Quote(kind)+": "+strconv.Quote(notRun(kind, reasons[kind])))
	}
	return rule(fmt.Sprintf("!has(self.%s) || !(self.%s in %s)", field, field, listOf(kinds)), "{"+strings.Join(messages, ", ")+"}[self."+field+"]")
}

func rule(text, message string) map[string]any {
	return map[string]any{"rule": text, "messageExpression": message}
}

func listOf(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = strconv.Quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func addRule(schema, rule map[string]any) {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	schema["x-kubernetes-validations"] = append(rules, rule)
}

// at returns the part of a schema at a path, which exists.
func at(schema map[string]any, path ...string) map[string]any {
	for _, name := range path {
		schema = schema[name].(map[string]any)
	}
	return schema
}
