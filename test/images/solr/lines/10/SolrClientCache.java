package org.apache.solr.client.solrj.io;

import org.apache.solr.client.solrj.SolrClient;
import org.apache.solr.client.solrj.impl.HttpSolrClientBase;

/**
 * Stands in for the class of this name, as Solr 10 calls it: a node makes one when it starts, and uses it for streaming
 * expressions and for files that packages bring, of which no test has any.
 */
public class SolrClientCache implements AutoCloseable {
  public SolrClientCache(HttpSolrClientBase client) {}

  public void setDefaultZKHost(String zkHost) {}

  public SolrClient getHttpSolrClient(String url) {
    throw new UnsupportedOperationException("this node has no streaming expressions");
  }

  @Override
  public void close() {}
}
