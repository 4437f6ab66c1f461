// Package reviews answers queries about users and their permissions (the kinds whose names end with
// Review), and issues tokens of service accounts.
package reviews
