// Package collision executes the plans of owners with a history of revisions. The name of a
// revision is a hash of its data, so that another revision may have it: then the owner's
// status gets a higher collision count, which leads to another name.
package collision
