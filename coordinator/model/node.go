package model

// Node is a node on which pods of the cluster run.
type Node struct {
	Name     string  `json:"name"`
	Zone     string  `json:"zone"`
	Cordoned bool    `json:"cordoned"`
	Gone     bool    `json:"gone"`
	Taints   []Taint `json:"taints"`
}

// Taint is a taint of a node.
type Taint struct {
	Key   string `json:"key"`
	Since Time   `json:"since"`
}
