package fault

import "minikcm.dev/minikcm/internal/scenario/spec"

// Parse reads faults, each written as the step fault of a scenario is, from the documents of
// data, and checks them. Text such as ${NAME} is left as it is: there are no variables. The
// error is a spec.Problems, or a *spec.SyntaxError if data is no YAML.
func Parse(file string, data []byte) ([]*Fault, error) {
	const missing = "there is no fault in it: write one such as {nodes: {action: crash, names: [node-1]}, for: 5m}"
	return spec.Values(file, data, missing, func(c *spec.Checker, f *Fault) {
		for _, problem := range f.Validate() {
			c.Problem(problem.Field, "%s", problem.Message)
		}
	})
}
