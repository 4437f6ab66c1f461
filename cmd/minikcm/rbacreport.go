package main

import (
	"bytes"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/accessapi"
	"minikcm.dev/minikcm/internal/leastprivilege"
)

// accessReport is the output of "minikcm rbac record": YAML documents that kubectl can apply, with
// the comparison in comments.
type accessReport struct {
	*accessapi.Record
	options leastprivilege.Options
	// source says where the roles to compare with are from; empty if there is nothing to
	// compare with.
	source string
	grants []leastprivilege.Grant
}

func (a *accessReport) print(out io.Writer) error {
	var text bytes.Buffer
	cluster, roles := leastprivilege.Roles(a.Requests, a.options)
	var documents []any
	if cluster != nil {
		documents = append(documents, cluster)
	}
	for _, role := range roles {
		documents = append(documents, role)
	}
	if len(documents) == 0 {
		text.WriteString("# The command asked for nothing that needs a role.\n")
	}
	for i, document := range documents {
		if i > 0 {
			text.WriteString("---\n")
		}
		data, err := yaml.Marshal(document)
		if err != nil {
			return fmt.Errorf("printing the roles: %w", err)
		}
		text.Write(data)
	}
	if a.Incomplete {
		text.WriteString("\n# The command made more kinds of requests than are recorded: the roles are not complete.\n")
	}
	if a.source != "" {
		a.compare(&text)
	}
	_, err := out.Write(text.Bytes())
	return err
}

// compare prints the permissions that the grants lack, and the ones that they have beyond the requests.
func (a *accessReport) compare(text *bytes.Buffer) {
	var missing []string
	for i := range a.Requests {
		if request := &a.Requests[i]; !leastprivilege.Allowed(a.grants, request) {
			missing = append(missing, request.String())
		}
	}
	beyond := leastprivilege.Beyond(a.grants, a.Requests)
	if len(missing) > 0 {
		fmt.Fprintf(text, "\n# Asked for, but not granted by %s:\n", a.source)
	}
	for _, line := range missing {
		fmt.Fprintf(text, "#   %s\n", line)
	}
	if len(beyond) > 0 {
		fmt.Fprintf(text, "\n# Granted by %s, but not asked for:\n", a.source)
	}
	role := ""
	for i := range beyond {
		if beyond[i].Role != role {
			role = beyond[i].Role
			fmt.Fprintf(text, "#   %s:\n", role)
		}
		fmt.Fprintf(text, "#     %s\n", beyond[i].String())
	}
	if len(missing) == 0 && len(beyond) == 0 {
		fmt.Fprintf(text, "\n# This is what %s grant.\n", a.source)
	}
}
