//! topicmill
