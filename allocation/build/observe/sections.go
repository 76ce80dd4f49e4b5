package observe

import (
	"github.com/promcost/promcost/allocation"
)

// Section is a part of a container's running time within which only usage changes, and the row it counts for.
type Section struct {
	From, To int64
	Ref      RowRef
	*Terms
}

// Terms are what the charge for a container depends on besides its usage. Sections share them: there are few of them in a cluster.
type Terms struct {
	Request, Price [allocation.NumResources]float64
	Inside         [allocation.NumResources]bool // the node exists and has the resource
}

// RowRef is a row of a set. In the sets of the margins, which are dropped, and where another shard has it, Row is NoRow.
type RowRef struct{ Set, Row int32 }

// NoRow stands for no row.
const NoRow = -1
